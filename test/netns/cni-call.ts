/** Calls a CNI executable as a runtime does. */

import path from "node:path";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import type { Outcome } from "./machine.ts";
import type { Namespace } from "./testbed.ts";

export interface CniCall {
  readonly node: Namespace;
  /** Absent: CNI_NETNS is not set. */
  readonly container?: Namespace | undefined;
  readonly containerId?: string;
  readonly ifname?: string;
  readonly executable?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface CniAnswer extends Outcome {
  /** Stdout as JSON; undefined when nothing was printed. */
  readonly json: Record<string, unknown> | undefined;
}

export interface CniResult {
  readonly cniVersion: string;
  readonly interfaces: readonly { name: string; mac: string; sandbox?: string; mtu?: number }[];
  readonly dns?: object;
}

let plugins: Promise<string> | undefined;

/** The shipped executable, built when it is out of date. */
export async function pluginPath(name: string): Promise<string> {
  plugins ??= buildPlugins();
  return path.join(await plugins, name);
}

export async function cni(command: string, call: CniCall, config: object | string | Buffer): Promise<CniAnswer> {
  const executable = call.executable ?? (await pluginPath("bridge"));
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: call.containerId ?? "container",
    CNI_IFNAME: call.ifname ?? "net1",
    CNI_PATH: path.dirname(executable),
    ...(call.container === undefined ? {} : { CNI_NETNS: call.container.path }),
    ...call.env,
  };
  const input = typeof config === "string" || Buffer.isBuffer(config) ? config : JSON.stringify(config);
  const outcome = await call.node.run([executable], { env, input });
  return { ...outcome, json: outcome.stdout === "" ? undefined : JSON.parse(outcome.stdout) };
}

/** ADD that must succeed. */
export async function add(call: CniCall, config: object): Promise<CniResult> {
  const { code, stdout, stderr } = await cni("ADD", call, config);
  if (code !== 0) throw new Error(`ADD failed: ${stdout}${stderr}`);
  return JSON.parse(stdout);
}

/** DEL that must succeed, which prints nothing. */
export async function del(call: CniCall, config: object): Promise<void> {
  const { code, stdout, stderr } = await cni("DEL", call, config);
  if (code !== 0 || stdout !== "") throw new Error(`DEL failed: ${stdout}${stderr}`);
}
