/** The command in this process, with a terminal of the test's. */
import { run } from "../../../src/cli/run.ts";
import type { Terminal } from "../../../src/cli/terminal.ts";
import { NOW } from "./answers.ts";

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export const PIPE: Terminal = { columns: undefined, colour: false, unicode: true };
export const WIDE: Terminal = { columns: 160, colour: true, unicode: true };
export const NARROW: Terminal = { columns: 80, colour: false, unicode: true };
export const TINY: Terminal = { columns: 48, colour: false, unicode: false };

export async function macpool(
  kubeconfig: string,
  argv: readonly string[],
  options: {
    readonly terminal?: Terminal;
    readonly signal?: AbortSignal;
    readonly onPrint?: (text: string) => void;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Ended> {
  const printed: string[] = [];
  const warned: string[] = [];
  const { stdout, stderr, exitCode } = await run({
    argv,
    env: { KUBECONFIG: kubeconfig, ...options.env, HOME: "/nowhere" },
    now: () => NOW,
    terminal: options.terminal ?? PIPE,
    print: (text) => {
      printed.push(text);
      options.onPrint?.(text);
    },
    warn: (text) => warned.push(text),
    signal: options.signal ?? new AbortController().signal,
  });
  return { exitCode, stdout: printed.join("") + stdout, stderr: warned.join("") + stderr };
}
