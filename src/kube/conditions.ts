/** A status condition as metav1.Condition defines it. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One CamelCase word, stable: programs compare it. */
  readonly reason: string;
  readonly message: string;
  /** RFC 3339; when `status` last changed. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number | undefined;
}

export type ConditionUpdate = Omit<Condition, "lastTransitionTime">;

/**
 * The list with `next` in it. A type that is present keeps its position, and its lastTransitionTime unless the status
 * changes. Returns the same array if nothing changes, so callers know that there is nothing to write.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  next: ConditionUpdate,
  now: Date,
): readonly Condition[] {
  const list = conditions ?? [];
  const old = findCondition(list, next.type);
  const lastTransitionTime = old?.status === next.status ? old.lastTransitionTime : rfc3339(now);
  const condition: Condition = { ...next, lastTransitionTime };
  if (old === undefined) {
    return [...list, condition];
  }
  const same =
    old.status === next.status &&
    old.reason === next.reason &&
    old.message === next.message &&
    old.observedGeneration === next.observedGeneration;
  return same ? list : list.map((one) => (one.type === next.type ? condition : one));
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** metav1.Time: seconds, no fraction. */
export function rfc3339(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime: exactly six digits of fraction. */
export function rfc3339Micro(time: Date): string {
  return `${time.toISOString().slice(0, 23)}000Z`;
}
