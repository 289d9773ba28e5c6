/** Throws `problem` unless `holds`. */
export function assertThat(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}
