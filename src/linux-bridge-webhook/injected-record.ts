/** What the injection made of one resource of the first container. */
export interface Injected {
  readonly from: number;
  readonly to: number;
}

/** Ours are shorter: one entry for each of a few networks. */
const MAX_CHARS = 32_768;

/** Reads the annotation. Anybody can write it: what is no record counts as none. */
export function readInjected(annotation: string | undefined): ReadonlyMap<string, Injected> {
  if (annotation === undefined || annotation.length > MAX_CHARS) return new Map();
  let record: unknown;
  try {
    record = JSON.parse(annotation);
  } catch {
    return new Map();
  }
  if (typeof record !== "object" || record === null) return new Map();
  return new Map(
    Object.entries(record).flatMap(([resource, value]) => (isInjected(value) ? [[resource, value] as const] : [])),
  );
}

function isInjected(value: unknown): value is Injected {
  const { from, to } = (value ?? {}) as Partial<Record<keyof Injected, unknown>>;
  return isAmount(from) && isAmount(to);
}

function isAmount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
