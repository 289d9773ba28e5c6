/** Runs CNI plugins of this node, one after the other, as the CNI specification says for lists. */
import { accessSync, constants, existsSync } from "node:fs";
import { basename, join } from "node:path";
import { type CommandResult, runCommand } from "../command.ts";
import { CNI_BIN_DIRECTORY } from "../node-root.ts";
import { plainEnv } from "../requirements.ts";
import type { Delegate, PluginConfig } from "./delegate.ts";
import type { CniResult } from "./network-status.ts";

/** Environment of an attachment besides the command. */
export interface CniEnvironment {
  readonly CNI_CONTAINERID: string;
  readonly CNI_NETNS: string;
  readonly CNI_IFNAME: string;
  readonly CNI_ARGS: string;
}

/** Runs a plugin's executable where the pod is. */
export type RunPlugin = (file: string, env: NodeJS.ProcessEnv, stdin: string) => Promise<CommandResult>;

/** Where plugins are looked for. */
export const DEFAULT_PATH: readonly string[] = [CNI_BIN_DIRECTORY];

/** Runs ADD of all plugins. When one fails the list is taken down again and the plugin's own words are thrown. */
export async function cniAdd(
  delegate: Delegate,
  env: CniEnvironment,
  run = runHere,
  path = DEFAULT_PATH,
): Promise<CniResult> {
  let result: CniResult | undefined;
  for (const plugin of delegate.plugins) {
    try {
      const output = await runPlugin("ADD", withPrevious(plugin, result), env, run, path);
      result = parseResult(plugin, output);
    } catch (error) {
      await cniDelete(delegate, env, undefined, run, path).catch(() => {});
      throw error;
    }
  }
  return result ?? {};
}

/** Runs DEL in reverse order; all plugins run even when one fails. */
export async function cniDelete(
  delegate: Delegate,
  env: CniEnvironment,
  result: CniResult | undefined,
  run = runHere,
  path = DEFAULT_PATH,
): Promise<void> {
  const failures: unknown[] = [];
  // Before 0.4.0 DEL does not get the result of ADD.
  const previous = /^0\.[123]\./.test(delegate.cniVersion) ? undefined : result;
  for (const plugin of delegate.plugins.toReversed()) {
    await runPlugin("DEL", withPrevious(plugin, previous), env, run, path).catch((error: unknown) =>
      failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
}

const withPrevious = (plugin: PluginConfig, prevResult: CniResult | undefined): object =>
  prevResult === undefined ? plugin : { ...plugin, prevResult };

async function runPlugin(
  command: string,
  config: object,
  env: CniEnvironment,
  run: RunPlugin,
  path: readonly string[],
): Promise<string> {
  const { type } = config as PluginConfig;
  const directory = path.find((one) => existsSync(join(one, type))) ?? path[0] ?? "";
  const variables = plainEnv({ ...env, CNI_COMMAND: command, CNI_PATH: path.join(":") });
  const { code, stdout, stderr } = await run(join(directory, type), variables, JSON.stringify(config));
  if (code !== 0)
    throw new Error(`plugin type="${type}" failed (${command.toLowerCase()}): ${complaint(stdout, stderr, code)}`);
  return stdout;
}

const runHere: RunPlugin = async (file, env, stdin) => {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    throw new Error(`failed to find plugin "${basename(file)}" in path [${env.CNI_PATH?.replaceAll(":", " ")}]`);
  }
  return await runCommand([file], { stdin, env });
};

/** A CNI error is one JSON document on stdout. */
function complaint(stdout: string, stderr: string, code: number): string {
  try {
    const { msg = "", details } = JSON.parse(stdout) as { msg?: string; details?: string };
    return details ? `${msg}; ${details}` : msg;
  } catch {
    return `exit code ${code}: ${(stdout + stderr).trim().slice(-500)}`;
  }
}

function parseResult({ type }: PluginConfig, output: string): CniResult {
  try {
    return JSON.parse(output) as CniResult;
  } catch {
    throw new Error(`plugin type="${type}" printed no CNI result: ${output.slice(0, 200)}`);
  }
}
