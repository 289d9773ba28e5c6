/** The sysctls that a node's administrator allows: a regular expression a line, as the Go reference plugin reads them. */

import { goRegexp } from "./go-regexp.ts";
import { RegexpFault } from "./regexp-characters.ts";

export interface Refusal {
  readonly message: string;
  readonly details: string;
}

/** Of the first key that no line of the file's text matches; undefined when all are allowed. */
export function refusalOf(keys: readonly string[], file: string, text: string): Refusal | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const given = lines.filter((line) => line !== "");
  const compiled: ((key: string) => boolean)[] = [];
  /** A line that no key comes to is not looked at, as in the reference: what it is does not matter. */
  const matches = (key: string, line: string, index: number) => {
    compiled[index] ??= goRegexp(line);
    return compiled[index](key);
  };
  for (const key of keys) {
    for (let index = 0; ; index++) {
      const line = given[index];
      if (line === undefined) return notAllowed(key, file, given);
      try {
        if (matches(key, line, index)) break;
      } catch (error) {
        if (error instanceof RegexpFault) return unreadable(line, file, error.message);
        throw error;
      }
    }
  }
  return undefined;
}

function notAllowed(key: string, file: string, lines: readonly string[]): Refusal {
  return {
    message: `sysctl "${key}" is not allowed on this node: remove it, or have the node's administrator add it to ${file}`,
    details: `allowed: ${lines.join(", ") || "none"}`,
  };
}

function unreadable(line: string, file: string, fault: string): Refusal {
  return {
    message: `${file}: "${line}" is not a regular expression of Go: have the node's administrator correct it`,
    details: fault,
  };
}
