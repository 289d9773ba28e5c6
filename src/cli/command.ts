import type { PoolBackend } from "./backends/pool-backend.ts";
import type { CommandLine, CommandUsage, Offer } from "./command-line.ts";
import type { OpenCluster } from "./open-cluster.ts";
import type { Terminal } from "./terminal.ts";

/** Input and result of a command, and what help and completion say about it. */

export interface CommandInput {
  readonly line: CommandLine;
  /** From the option, otherwise from the context; undefined with --all-namespaces. */
  namespace(): Promise<string | undefined>;
  /**
   * That of the option alone, for questions about the whole cluster: who may read one namespace names it. Undefined with
   * --all-namespaces.
   */
  readonly onlyNamespace: string | undefined;
  /** When the command began. */
  readonly nowMs: number;
  now(): number;
  readonly terminal: Terminal;
  /** The cluster of the kubeconfig's context, or of another one. */
  open(context?: string): Promise<OpenCluster>;
  /** Asks the cluster of the context, through the first backend that answers. */
  ask<T>(question: (backend: PoolBackend) => Promise<T>): Promise<T>;
  /** Text of a command that goes on; the others return theirs. */
  print(text: string): void;
  /** Aborts when the user ends the command. */
  readonly signal: AbortSignal;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr?: string;
  /** The namespace in which nothing was found: it may not exist. */
  readonly emptyIn?: string | undefined;
  /** The MACPool of which nothing was found: it may not exist. */
  readonly emptyPool?: string | undefined;
  /** 0: success, 1: something is wrong, or nothing was found, 2: not everything could be looked at. */
  readonly exitCode: 0 | 1 | 2;
}

type Command = (input: CommandInput) => Promise<CommandResult>;

export interface CommandSpec extends CommandUsage {
  /** Its arguments, as the help shows them. */
  readonly args?: string;
  readonly summary: string;
  /** Paragraphs of its own help. */
  readonly details?: readonly string[];
  /** Whole command lines. */
  readonly examples?: readonly string[];
  /** First arguments that completion offers. */
  readonly words?: readonly string[];
  readonly offers?: Offer;
  readonly run: Command;
}
