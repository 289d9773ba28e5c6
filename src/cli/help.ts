import type { CommandSpec } from "./command.ts";
import { GLOBAL_OPTIONS, type OptionSpec } from "./command-line.ts";
import { wrapped } from "./terminal.ts";

/** The texts of --help, from the table of commands. */

const PAGE = { columns: 80 };

export function overview(commands: readonly CommandSpec[]): string {
  const lines: (readonly [string, string])[] = [
    ...commands.map((spec) => [usageOf(spec), spec.summary] as const),
    ["version", "version of this program"],
  ];
  return `Shows who has which MAC address, what is free, and why one was refused.

Usage: kubectl macpool COMMAND [OPTIONS]

${listed(lines)}
Options:
${listed(GLOBAL_OPTIONS.map(optionLine))}
kubectl macpool help COMMAND has the options of a command.
Exit codes: 0 success, 1 something wrong or nothing found, 2 could not look.
`;
}

export function helpOf(spec: CommandSpec): string {
  const { details = [], examples = [], options = [] } = spec;
  return [
    `${capitalised(spec.summary)}.\n\nUsage: kubectl macpool ${usageOf(spec)} [OPTIONS]\n`,
    ...(details.length === 0 ? [] : [details.map((text) => wrapped(PAGE, text, 0)).join("")]),
    ...(options.length === 0 ? [] : [`Options:\n${listed(options.map(optionLine))}`]),
    ...(examples.length === 0 ? [] : [`Examples:\n${examples.map((line) => `  ${line}\n`).join("")}`]),
    "kubectl macpool --help has the options of all commands.\n",
  ].join("\n");
}

function usageOf({ name, args }: CommandSpec): string {
  return args === undefined ? name : `${name} ${args}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function optionLine({ name, short, value, summary }: OptionSpec): readonly [string, string] {
  const letter = short === undefined ? "    " : `-${short}, `;
  return [`${letter}--${name}${value === undefined ? "" : ` ${value}`}`, summary];
}

function listed(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, text]) => `  ${name.padEnd(width)}   ${text}\n`).join("");
}
