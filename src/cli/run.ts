/**
 * The kubectl plugin `kubectl-macpool`: reads MACPools and MACClaims with the user's own credentials, so it needs no
 * access to the pool's pods. Imports the contract (src/api) and the client (src/kube/client); build.ts bundles it.
 */

import { PRODUCT_VERSION } from "../api/names.ts";
import { KubeClient } from "../kube/client/client.ts";
import { type Credentials, userCredentials } from "../kube/client/credentials.ts";
import { Cluster } from "./cluster.ts";
import { parseCommandLine, UsageError } from "./command-line.ts";
import type { Command } from "./commands.ts";
import { CliError, describeFault } from "./faults.ts";
import { findCommand } from "./find-command.ts";
import { HELP } from "./help.ts";
import { listCommand } from "./list-command.ts";
import { statusCommand } from "./status-command.ts";

const COMMANDS: Readonly<Record<string, Command>> = { list: listCommand, find: findCommand, status: statusCommand };

export interface RunInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly nowMs: number;
}

export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: 0 | 1 | 2;
}

/** An error of the user or the cluster becomes a sentence on stderr and an exit code; it is not thrown. */
export async function run(input: RunInput): Promise<RunResult> {
  try {
    const line = parseCommandLine(input.argv);
    const { command, options } = line;
    if (options.help || command === "" || command === "help") return { stdout: HELP, stderr: "", exitCode: 0 };
    if (command === "version") return { stdout: `${PRODUCT_VERSION}\n`, stderr: "", exitCode: 0 };
    const carryOut = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    if (carryOut === undefined) {
      throw new UsageError(`unknown command ${JSON.stringify(command)}: see kubectl macpool --help`);
    }
    const credentials = await findCredentials(input, options);
    const namespace = options.allNamespaces ? undefined : (options.namespace ?? credentials.namespace ?? "default");
    await using client = new KubeClient({ credentials, userAgent: `kubectl-macpool/${PRODUCT_VERSION}` });
    const asked = { line, cluster: new Cluster(client), namespace, nowMs: input.nowMs };
    const {
      stdout,
      stderr = "",
      exitCode,
    } = await carryOut(asked).catch((error: unknown) => {
      const message = describeFault(error, credentials.server);
      throw message === undefined ? error : new CliError(message, { cause: error });
    });
    return { stdout, stderr: stderr === "" ? "" : `${stderr}\n`, exitCode };
  } catch (error) {
    if (error instanceof UsageError) return { stdout: "", stderr: `error: ${error.message}\n`, exitCode: 2 };
    if (error instanceof CliError) return { stdout: "", stderr: `error: ${error.message}\n`, exitCode: 1 };
    throw error;
  }
}

async function findCredentials(
  { env, home }: RunInput,
  { kubeconfig, context }: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
): Promise<Credentials> {
  try {
    return await userCredentials({ ...env, HOME: home }, { kubeconfig, context });
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
