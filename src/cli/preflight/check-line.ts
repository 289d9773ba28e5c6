/** What `preflight` says: one line for each thing that it looked at. */

export const CHECKS = [
  "kubernetes",
  "kubevirt",
  "openshift",
  "multus",
  "nodes",
  "namespace",
  "operator",
  "mac pool",
  "daemons",
  "config",
  "images",
  "range",
  "addresses",
  "bridges",
] as const;
export type CheckName = (typeof CHECKS)[number];

export interface CheckLine {
  readonly check: CheckName;
  /** `do`: before the installation. `note`: worth to know, or to be done later. `unchecked`: it says what is missing. */
  readonly state: "ok" | "do" | "note" | "unchecked";
  readonly text: string;
  /** For a shell. Never empty where something is to be done. */
  readonly commands?: readonly string[];
}

export const ok = (check: CheckName, text: string): CheckLine => ({ check, state: "ok", text });

export const note = (check: CheckName, text: string, ...commands: readonly string[]): CheckLine => {
  return commands.length === 0 ? { check, state: "note", text } : { check, state: "note", text, commands };
};

export const toDo = (check: CheckName, text: string, command: string, ...more: readonly string[]): CheckLine => {
  return { check, state: "do", text, commands: [command, ...more] };
};

/** `why`: the right that is missing, or what the server said. */
export const unchecked = (check: CheckName, what: string, why: string): CheckLine => {
  return { check, state: "unchecked", text: `${what}: ${why}` };
};

/** Of one check. */
const MAX_LINES = 10;

/** The first lines, and how many more there are. */
export function bounded(lines: readonly CheckLine[], more: (count: number) => CheckLine): readonly CheckLine[] {
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES), more(lines.length - MAX_LINES)];
}

const MAX_NAMED = 5;

/** `a`, `a and b`, `a, b and 3 more`. */
export function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  if (more > 0) return `${names.slice(0, MAX_NAMED).join(", ")} and ${more} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
