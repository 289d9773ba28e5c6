import type { Cluster } from "./cluster.ts";
import type { CommandLine } from "./command-line.ts";

/** What a command gets, and what it says when it is done. */

export interface CommandInput {
  readonly line: CommandLine;
  readonly cluster: Cluster;
  /** Of the option, else of the context; undefined with --all-namespaces. */
  readonly namespace: string | undefined;
  readonly nowMs: number;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr?: string;
  /** 0 fine, 1 found a problem. */
  readonly exitCode: 0 | 1;
}

export type Command = (input: CommandInput) => Promise<CommandResult>;
