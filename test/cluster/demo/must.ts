/** Throws `problem` unless `holds`. */
export function must(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}
