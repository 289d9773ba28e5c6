/** The sysctls that a node's administrator allows: a regular expression a line, as for the Go reference plugin. */

import type { Syscalls } from "../native/syscalls.ts";

export interface Refusal {
  readonly message: string;
  readonly details: string;
}

/** Of the first key that no line of the file's text matches; undefined when all are allowed. */
export function refusalOf(
  syscalls: Syscalls,
  keys: readonly string[],
  file: string,
  text: string,
): Refusal | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const given = lines.filter((line) => line !== "");
  for (const key of keys) {
    const refusal = refusalOfKey(syscalls, key, file, given);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** A line that no key comes to is not looked at, as in the reference: what it is does not matter. */
function refusalOfKey(syscalls: Syscalls, key: string, file: string, lines: readonly string[]): Refusal | undefined {
  for (const line of lines) {
    try {
      if (syscalls.matches(line, key)) return undefined;
    } catch (error) {
      return unreadable(line, file, error instanceof Error ? error.message : String(error));
    }
  }
  return {
    message: `sysctl "${key}" is not allowed on this node: remove it, or have the node's administrator add it to ${file}`,
    details: `allowed: ${lines.join(", ") || "none"}`,
  };
}

function unreadable(line: string, file: string, fault: string): Refusal {
  return {
    message: `${file}: "${line}" is not a regular expression: have the node's administrator correct it`,
    details: fault,
  };
}
