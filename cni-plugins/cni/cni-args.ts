/** CNI_ARGS: `KEY=value;KEY=value`, keys in any order and in exact case. */

import { CniError, INVALID_ENVIRONMENT } from "./cni-error.ts";

/** The value of `wanted`. Other keys are an error unless IgnoreUnknown is set, as the specification's tools do it. */
export function readCniArgs(text: string, wanted: string): string | undefined {
  let value: string | undefined;
  let ignoreUnknown = false;
  const unknown: string[] = [];
  for (const pair of text === "" ? [] : text.split(";")) {
    const parts = pair.split("=");
    const [key = "", word = ""] = parts;
    if (parts.length !== 2) {
      throw new CniError(
        INVALID_ENVIRONMENT,
        `CNI_ARGS has "${pair}" where KEY=value was expected: correct the runtime's CNI_ARGS`,
      );
    }
    if (key === wanted) value = word;
    else if (key === "IgnoreUnknown") ignoreUnknown = readBoolean(word);
    else unknown.push(pair);
  }
  if (unknown.length > 0 && !ignoreUnknown) {
    const list = unknown.join(", ");
    throw new CniError(
      INVALID_ENVIRONMENT,
      `CNI_ARGS has unknown arguments ${list}: remove them or add IgnoreUnknown=1`,
    );
  }
  return value === "" ? undefined : value;
}

function readBoolean(word: string): boolean {
  const lower = word.toLowerCase();
  if (lower === "1" || lower === "true") return true;
  if (lower === "0" || lower === "false") return false;
  throw new CniError(INVALID_ENVIRONMENT, `CNI_ARGS has IgnoreUnknown=${word}: it must be 1, true, 0 or false`);
}
