/** From a NAD's configuration to what each plugin gets on stdin, as libcni and multus make it. Pure. */
import type { NetworkSelection } from "./network-selection.ts";

export type PluginConfig = Readonly<Record<string, unknown>> & { readonly type: string };

/** One attachment: what is run at ADD, and kept for DEL. */
export interface Delegate {
  readonly network: string;
  readonly interface: string;
  readonly cniVersion: string;
  /** In the order of ADD; each has name, cniVersion, runtimeConfig and args in it. */
  readonly plugins: readonly PluginConfig[];
  /** Pairs that multus adds to CNI_ARGS. */
  readonly args: Readonly<Record<string, string>>;
}

/** What a configuration without cniVersion means. */
const FIRST_VERSION = "0.1.0";

/** Throws when the configuration can't be run. */
export function makeDelegate(selection: NetworkSelection, config: string): Delegate {
  const network = `${selection.namespace}/${selection.name}`;
  const parsed = parseConfig(network, config);
  const name = typeof parsed.name === "string" && parsed.name !== "" ? parsed.name : selection.name;
  const cniVersion = typeof parsed.cniVersion === "string" ? parsed.cniVersion : FIRST_VERSION;
  const plugins = Array.isArray(parsed.plugins) ? (parsed.plugins as Record<string, unknown>[]) : [parsed];
  if (plugins.length === 0) throw new Error(`${network}: "plugins" is empty`);
  const requested = capabilityValues(selection);
  return {
    network,
    interface: selection.interface,
    cniVersion,
    plugins: plugins.map((plugin) => completePlugin(network, plugin, { name, cniVersion }, requested, selection)),
    args: {
      ...(selection.mac === undefined ? {} : { MAC: selection.mac }),
      ...(selection.ips === undefined ? {} : { IP: selection.ips.join(",") }),
    },
  };
}

function parseConfig(network: string, config: string): Record<string, unknown> {
  if (config.trim() === "") throw new Error(`${network}: spec.config is empty`);
  try {
    return JSON.parse(config) as Record<string, unknown>;
  } catch (error) {
    throw new Error(`${network}: spec.config is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function completePlugin(
  network: string,
  plugin: Record<string, unknown>,
  common: { readonly name: string; readonly cniVersion: string },
  requested: Readonly<Record<string, unknown>>,
  { cniArgs }: NetworkSelection,
): PluginConfig {
  const { type, capabilities, args } = plugin;
  if (typeof type !== "string" || type === "" || type.includes("/")) {
    throw new Error(`${network}: "type" ${JSON.stringify(type)} is not the name of a plugin`);
  }
  const declared = Object.entries((capabilities ?? {}) as Record<string, unknown>).filter(([, on]) => on === true);
  const runtimeConfig = Object.fromEntries(
    declared.flatMap(([capability]) => (capability in requested ? [[capability, requested[capability]]] : [])),
  );
  const cni = { ...(args as { cni?: object } | undefined)?.cni, ...cniArgs };
  return {
    ...plugin,
    ...common,
    type,
    ...(Object.keys(runtimeConfig).length === 0 ? {} : { runtimeConfig }),
    ...(cniArgs === undefined ? {} : { args: { ...(args as object | undefined), cni } }),
  };
}

/** Values for the capabilities that a plugin may declare. */
const capabilityValues = ({ mac, ips }: NetworkSelection): Record<string, unknown> => ({
  ...(mac === undefined ? {} : { mac }),
  ...(ips === undefined ? {} : { ips }),
});
