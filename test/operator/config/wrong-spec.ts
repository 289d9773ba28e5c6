/** A row of the tables of specs that are refused. */

export interface WrongSpec {
  readonly what: string;
  readonly spec: object;
  /** The operator's, whole and in order. */
  readonly texts: readonly string[];
  /** What the API server says where its own schema speaks first, in parts. */
  readonly atAdmission?: readonly string[];
  /** A value of another type is refused by every definition. */
  readonly isMistyped?: true;
}

/** A row for each value, named by its spec. */
export function each<T>(values: readonly T[], row: (value: T) => Omit<WrongSpec, "what">): WrongSpec[] {
  return values.map(row).map((wrong) => ({ what: JSON.stringify(wrong.spec), ...wrong }));
}
