/**
 * The kubectl plugin `kubectl-macpool`: reads MACPools and MACClaims with the user's own credentials, so it needs no
 * access to the pool's pods. Imports the contract (src/api) only; bundled into one file by build.ts.
 */

import { PRODUCT_VERSION } from "../api/names.ts";
import { ApiServer } from "./api-server.ts";
import { Cluster } from "./cluster.ts";
import { parseCommandLine, UsageError } from "./command-line.ts";
import type { Command } from "./commands.ts";
import { withExecCredential } from "./exec-credential.ts";
import { findCommand } from "./find-command.ts";
import { HELP } from "./help.ts";
import { CliError, readKubeconfig } from "./kubeconfig.ts";
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

/** Never throws for what a user or a cluster can do wrong: that is a sentence on stderr and an exit code. */
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
    const found = await readKubeconfig({
      kubeconfig: options.kubeconfig,
      context: options.context,
      env: input.env,
      home: input.home,
    });
    const config = await withExecCredential(found, input.env);
    const namespace = options.allNamespaces ? undefined : (options.namespace ?? config.namespace);
    const cluster = new Cluster(new ApiServer(config));
    const { stdout, stderr = "", exitCode } = await carryOut({ line, cluster, namespace, nowMs: input.nowMs });
    return { stdout, stderr: stderr === "" ? "" : `${stderr}\n`, exitCode };
  } catch (error) {
    if (error instanceof UsageError) return { stdout: "", stderr: `error: ${error.message}\n`, exitCode: 2 };
    if (error instanceof CliError) return { stdout: "", stderr: `error: ${error.message}\n`, exitCode: 1 };
    throw error;
  }
}
