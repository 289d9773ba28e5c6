/**
 * The kubectl plugin `kubectl-macpool`. Its commands ask backends (`backends/`): the pool's REST interface behind the API
 * server's proxy, or MACPool and MACClaim objects, always with the user's own credentials. Imports the contract (src/api), the
 * types of inspection's answers and the client (src/kube/client); build.ts bundles it.
 */

import { closestName } from "../api/closest-name.ts";
import { PRODUCT_VERSION } from "../api/names.ts";
import type { CommandInput, CommandSpec } from "./command.ts";
import { type CommandLine, parseCommandLine, UsageError } from "./command-line.ts";
import { COMMANDS } from "./command-table.ts";
import { completions, namesFor } from "./completion.ts";
import { CliError } from "./faults.ts";
import { helpOf, overview } from "./help.ts";
import { OpenCluster } from "./open-cluster.ts";
import { pastable } from "./pasted-commands.ts";
import { type Terminal, wrapped } from "./terminal.ts";
import { formatViews } from "./views-text.ts";

export interface RunInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  readonly terminal: Terminal;
  /** Text of a command that goes on until it is ended. */
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  /** As of a command; 2: it could not look, or was asked wrongly. */
  readonly exitCode: 0 | 1 | 2;
}

/** What has no help but that of all commands. */
const OF_ALL: readonly (string | undefined)[] = [undefined, "version", "help"];

/** An error of the user or the cluster becomes a sentence on stderr and an exit code; it is not thrown. */
export async function run(input: RunInput): Promise<RunResult> {
  try {
    const { argv, env } = input;
    if (argv[0] === "__complete") {
      return said(await completions(argv.slice(1), COMMANDS, (offer, before) => namesFor(offer, before, env)));
    }
    const line = parseCommandLine(argv, COMMANDS);
    const { command, args, options } = line;
    if (options.version || command === "version") {
      return said(formatViews(line, { version: PRODUCT_VERSION }) ?? `${PRODUCT_VERSION}\n`);
    }
    if (command === "" || command === "help")
      return said(OF_ALL.includes(args[0]) ? overview(COMMANDS) : helpOf(specOf(args[0] ?? "")));
    if (options.help) return said(helpOf(specOf(command)));
    return await carryOut(specOf(command), line, input);
  } catch (error) {
    const stderr = (sentence: string): string => linesOf(`error: ${sentence}`, input.terminal);
    if (!(error instanceof UsageError || error instanceof CliError)) throw error;
    return { stdout: "", stderr: stderr(error.message), exitCode: 2 };
  }
}

function said(stdout: string): RunResult {
  return { stdout, stderr: "", exitCode: 0 };
}

function specOf(command: string): CommandSpec {
  const spec = COMMANDS.find(({ name }) => name === command);
  if (spec !== undefined) return spec;
  const meant = closestName(
    command,
    COMMANDS.map(({ name }) => name),
  );
  const hint = meant === undefined ? "see kubectl macpool --help" : `did you mean ${meant}?`;
  throw new UsageError(`unknown command ${JSON.stringify(command)}: ${hint}`);
}

async function carryOut(spec: CommandSpec, line: CommandLine, input: RunInput): Promise<RunResult> {
  const { options } = line;
  const clusters = new Map<string | undefined, Promise<OpenCluster>>();
  const open = (context = options.context): Promise<OpenCluster> => {
    const onObjectsOnly = (reason: string): void =>
      input.warn(wrapped(input.terminal, objectsOnly(reason, context), 0));
    const cluster =
      clusters.get(context) ?? OpenCluster.open({ env: input.env, options, context, now: input.now, onObjectsOnly });
    clusters.set(context, cluster);
    return cluster;
  };
  const asked: CommandInput = {
    line,
    namespace: async () => (options.allNamespaces ? undefined : (options.namespace ?? (await open()).defaultNamespace)),
    onlyNamespace: options.allNamespaces ? undefined : options.namespace,
    nowMs: input.now(),
    now: input.now,
    terminal: input.terminal,
    open,
    ask: async (question) => (await open()).ask(question),
    print: input.print,
    signal: input.signal,
  };
  try {
    const { stdout, stderr = "", exitCode, emptyIn, emptyPool } = await spec.run(asked);
    if (emptyIn !== undefined) await (await open()).expectNamespace(emptyIn);
    if (emptyPool !== undefined) await (await open()).expectPool(emptyPool);
    return { stdout, stderr: linesOf(pastable(stderr, options), input.terminal), exitCode };
  } catch (error) {
    if (error instanceof CliError) throw new CliError(pastable(error.message, options), { cause: error });
    throw error;
  } finally {
    for (const opened of await Promise.allSettled(clusters.values())) {
      if (opened.status === "fulfilled") await opened.value[Symbol.asyncDispose]();
    }
  }
}

/** A line that somebody copies stays one. */
const COMMAND = "  kubectl ";

/** Each other line of the text as wide as the terminal. */
function linesOf(text: string, terminal: Terminal): string {
  return text === ""
    ? ""
    : text
        .split("\n")
        .map((line) => (line.startsWith(COMMAND) ? `${line}\n` : wrapped(terminal, line, 0)))
        .join("");
}

function objectsOnly(reason: string, context: string | undefined): string {
  const where = context === undefined ? "" : `context ${context}: `;
  const what = "This answer is from MACPool and MACClaim objects, without denials and rates.";
  return `note: ${where}the MAC pool's service can't be asked: ${reason}. ${what}`;
}
