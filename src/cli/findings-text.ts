import type { Severity } from "../nad-lint/finding.ts";
import { type Colour, painted, type Terminal, wrapped } from "./terminal.ts";

/** What is wrong with an object of a file, for people. */

export interface ShownFinding {
  readonly severity: Severity;
  readonly code: string;
  readonly message: string;
}

const COLOURS: Readonly<Record<Severity, Colour>> = { error: "red", warning: "yellow", note: "dim" };

export function describeFindings(findings: readonly ShownFinding[], terminal: Terminal): string {
  return findings
    .map(
      ({ code, severity, message }) =>
        `  ${painted(terminal, COLOURS[severity], severity)} ${code}\n${wrapped(terminal, message, 4)}`,
    )
    .join("");
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
