import type { Cluster } from "./cluster.ts";
import type { CommandLine } from "./command-line.ts";

/** Input and result of a command. */

export interface CommandInput {
  readonly line: CommandLine;
  readonly cluster: Cluster;
  /** From the option, otherwise from the context; undefined with --all-namespaces. */
  readonly namespace: string | undefined;
  readonly nowMs: number;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr?: string;
  /** 0: success, 1: a problem was found. */
  readonly exitCode: 0 | 1;
}

export type Command = (input: CommandInput) => Promise<CommandResult>;
