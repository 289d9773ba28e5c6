import { type BridgeConfig, readBridgeConfig } from "../../cni-plugins/bridge/config.ts";
import { CniError, INCOMPATIBLE_VERSION } from "../../cni-plugins/cni/cni-error.ts";
import type { Warn, WarningKind } from "../../cni-plugins/cni/config-object.ts";
import { requireName } from "../../cni-plugins/cni/delegate.ts";
import { STDIN_LIMIT_BYTES } from "../../cni-plugins/cni/plugin.ts";
import { parseNetworkConfig, type Request, readRequest, stdinFault } from "../../cni-plugins/cni/request.ts";
import { requireInterfacesInResult } from "../../cni-plugins/cni/result.ts";
import { CURRENT_VERSION } from "../../cni-plugins/cni/version.ts";
import { EFBIG } from "../../cni-plugins/netlink/errno.ts";
import { readConfig, type TuningConfig } from "../../cni-plugins/tuning/config.ts";
import { previousResult } from "../../cni-plugins/tuning/previous-result.ts";
import { type Finding, type FindingCode, finding } from "./finding.ts";
import type { PluginCall } from "./network-config.ts";

/** What an ADD of the plugin would say about its configuration, before it looks at the node. */

/** Both names under which nodes have them. */
const PLUGINS: Readonly<Record<string, "bridge" | "tuning">> = {
  bridge: "bridge",
  "cnv-bridge": "bridge",
  tuning: "tuning",
  "cnv-tuning": "tuning",
};

/** Undefined for a plugin that is not ours: nothing is said about it. */
export function pluginOf({ type }: PluginCall): "bridge" | "tuning" | undefined {
  return Object.hasOwn(PLUGINS, type) ? PLUGINS[type] : undefined;
}

export interface ReadPlugin {
  readonly findings: readonly Finding[];
  /** Undefined where an ADD would fail before it had one. */
  readonly request: Request | undefined;
  /** Undefined where the plugin is another one, or refuses its configuration. */
  readonly bridge: BridgeConfig | undefined;
  /** The same. */
  readonly tuning: TuningConfig | undefined;
}

const CODES: Readonly<Record<WarningKind, FindingCode>> = {
  "unknown key": "key-ignored",
  "no VLAN": "key-ignored",
  quoted: "value-quoted",
  "no effect": "key-without-effect",
};

const CONSEQUENCES: Readonly<Record<WarningKind, string>> = {
  "unknown key": " The key has no effect. Correct it or remove it.",
  "no VLAN": "",
  quoted: "",
  "no effect": " Remove it, or add what it needs.",
};

/** For variables of the environment that a runtime sets. */
const ANY_ENVIRONMENT: Readonly<Record<string, string>> = {
  CNI_CONTAINERID: "pod",
  CNI_NETNS: "/run/netns/pod",
  CNI_IFNAME: "net1",
  CNI_PATH: "/opt/cni/bin",
};

export function readPlugin(call: PluginCall, plugin: "bridge" | "tuning"): ReadPlugin {
  const findings: Finding[] = [];
  const warn: Warn = (text, kind) => {
    const end = text.endsWith("?") ? "" : ".";
    findings.push(finding(CODES[kind], `${call.place}${text}${end}${CONSEQUENCES[kind]}`));
  };
  let request: Request | undefined;
  let tuning: TuningConfig | undefined;
  try {
    if (new TextEncoder().encode(call.stdin).length > STDIN_LIMIT_BYTES) throw stdinFault(EFBIG, STDIN_LIMIT_BYTES, "");
    request = readRequest("ADD", (name) => ANY_ENVIRONMENT[name] ?? "", parseNetworkConfig(call.stdin, warn));
    if (plugin === "bridge") return { findings, request, bridge: readBridge(request, warn), tuning };
    const read = readConfig(request, warn);
    findings.push(...read.sysctls.flatMap(({ key }) => checkSysctl(key, call.place)));
    previousResult(request.config, request.version);
    tuning = read;
  } catch (error) {
    findings.push(finding("plugin-refuses", `${call.place}${refusal(error)}. ${consequence(plugin)}`));
  }
  return { findings, request, bridge: undefined, tuning };
}

/** Interfaces that every pod has, and what stands for all of them. */
const IN_EVERY_POD = ["IFNAME", "all", "default", "lo", "eth0"];

/** Only a pod's annotation names its interfaces; KubeVirt gives each a name of its own. */
function checkSysctl(key: string, place: string): Finding[] {
  const path = key
    .replaceAll(".", "/")
    .split("/")
    .filter((name) => name !== "")
    .join("/");
  const [, before, name, after] = /^(net\/(?:ipv[46]|mpls)\/(?:conf|neigh))\/([^/]+)\/(.+)$/.exec(path) ?? [];
  if (before === undefined || name === undefined || IN_EVERY_POD.includes(name)) return [];
  const written = `${before}/IFNAME/${after}`.replaceAll("/", ".");
  const message = `${place}sysctl "${key.slice(0, MAX_KEY_CHARS)}" is for interface ${name.slice(0, MAX_KEY_CHARS)}: pods without it do not start. Write ${written.slice(0, MAX_KEY_CHARS)}.`;
  return [finding("sysctl-of-interface", message)];
}

const MAX_KEY_CHARS = 50;

function readBridge(request: Request, warn: Warn): BridgeConfig {
  const config = readBridgeConfig(request.config, request.args, warn);
  if (config.addressing === undefined) requireInterfacesInResult(request.version);
  else requireName(config.addressing.ipam);
  return config;
}

function refusal(error: unknown): string {
  if (!(error instanceof CniError)) throw error;
  // The details list all versions.
  const isUnknownVersion = error.code === INCOMPATIBLE_VERSION && error.details !== "";
  return isUnknownVersion ? `${error.message} such as ${CURRENT_VERSION}` : error.message;
}

function consequence(plugin: string): string {
  return `The ${plugin} plugin refuses it: pods will not start.`;
}
