/** How the operator tells the node daemon which directories held the CNI plugins before. Part of the contract (`src/api`). */

export const FORMER_CNI_BIN_DIRS = "FORMER_CNI_BIN_DIRS";

export interface FormerCniBinDir {
  /** Where the daemon sees it. */
  readonly directory: string;
  readonly directoryOnNode: string;
}

/** The variable's value. */
export function formatFormerCniBinDirs(former: readonly FormerCniBinDir[]): string {
  return JSON.stringify(Object.fromEntries(former.map((one) => [one.directory, one.directoryOnNode])));
}

/** None where the variable is not set, or holds something else. */
export function parseFormerCniBinDirs(text = ""): FormerCniBinDir[] {
  try {
    return Object.entries(JSON.parse(text) as object).flatMap(([directory, directoryOnNode]: [string, unknown]) =>
      typeof directoryOnNode === "string" ? [{ directory, directoryOnNode }] : [],
    );
  } catch {
    return [];
  }
}
