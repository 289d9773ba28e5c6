/**
 * Who else writes a field that the operator repairs, and how often. Of two writers that never give up, this one slows down
 * and says so.
 */

import { FIELD_MANAGER, LABEL_MANAGED_BY } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";

/** A person who corrects a typo needs a few. */
const FREE_REPAIRS = 5;
const REPAIR_EVERY_MS = 60_000;
/** A field that nobody touched for so long has no other writer any more. */
const FORGET_AFTER_MS = 5 * REPAIR_EVERY_MS;

/** In place of a field: the whole object, which others delete or take out of what the operator watches. */
export const EXISTENCE = "existence";

interface RepeatedRepair {
  readonly object: string;
  readonly field: string;
  /** The last other writer, where it is known. */
  readonly manager: string | undefined;
  readonly count: number;
  readonly lastMs: number;
}

export class RepairBackoff {
  readonly #clock: Clock;
  readonly #repairs = new Map<string, RepeatedRepair>();
  /** Keys of objects that the operator itself deleted. */
  readonly #deleted = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the field may be repaired now: at most once a minute after the first repairs. */
  mayRepair(object: string, field: string): boolean {
    const repair = this.#repairs.get(`${object} ${field}`);
    return repair === undefined || repair.count < FREE_REPAIRS || this.#ageMs(repair) >= REPAIR_EVERY_MS;
  }

  /** The field is repaired now. */
  repaired(object: string, field: string, manager: string | undefined): void {
    for (const [key, repair] of this.#repairs) if (this.#ageMs(repair) > FORGET_AFTER_MS) this.#repairs.delete(key);
    const key = `${object} ${field}`;
    const count = (this.#repairs.get(key)?.count ?? 0) + 1;
    this.#repairs.set(key, { object, field, manager, count, lastMs: this.#clock.monotonicMs() });
  }

  /** What others did to an object that nobody wants any more is over. */
  forget(object: string): void {
    for (const [key, repair] of this.#repairs) if (repair.object === object) this.#repairs.delete(key);
  }

  /** The operator itself deleted it. */
  deleted(object: string): void {
    this.#deleted.add(object);
  }

  /** The object is there again. */
  applied(object: string): void {
    this.#deleted.delete(object);
  }

  /** Whether it is missing because of the operator. */
  isMissingByUs(object: string): boolean {
    return this.#deleted.has(object);
  }

  /** One sentence for each field of the object that somebody else keeps writing. */
  otherWriters(object: string): string[] {
    return [...this.#repairs.values()]
      .filter(
        (repair) => repair.object === object && repair.count >= FREE_REPAIRS && this.#ageMs(repair) <= FORGET_AFTER_MS,
      )
      .map(({ field, manager = "another writer" }) =>
        field === EXISTENCE
          ? `${manager} keeps deleting it or its label ${LABEL_MANAGED_BY}; it is applied again once a minute`
          : `${manager} keeps changing ${field}; it is set again once a minute`,
      );
  }

  #ageMs(repair: RepeatedRepair): number {
    return this.#clock.monotonicMs() - repair.lastMs;
  }
}

/**
 * Who wrote the field besides `own`, by the name that writers give themselves: the last of those who have the innermost field
 * that anybody has. The time alone has a resolution of a second, and an atomic map is a field without fields of its own.
 */
export function lastManager({ metadata }: KubeObject, field: string, own: string): string | undefined {
  const others = (metadata.managedFields ?? []).filter(
    ({ manager, subresource }) => !manager?.startsWith(own) && !subresource,
  );
  const timeOf = ({ time }: (typeof others)[number]): number => Date.parse(time ?? "") || 0;
  const latestFirst = others.toSorted((a, b) => timeOf(b) - timeOf(a));
  for (const part of field.split(".").toReversed()) {
    const writer = latestFirst.find(({ fieldsV1 }) => JSON.stringify(fieldsV1)?.includes(`"f:${part}"`));
    if (writer !== undefined) return writer.manager;
  }
  return latestFirst[0]?.manager;
}

/** The predecessor has the same name, and never applies: it updates. */
export function isAppliedByUs({ metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).some(
    ({ manager, operation }) => manager === FIELD_MANAGER && operation === "Apply",
  );
}
