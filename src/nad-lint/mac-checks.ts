import { formatMacPrefix } from "../../cni-plugins/bridge/allowed-macs.ts";
import type { BridgeConfig } from "../../cni-plugins/bridge/config.ts";
import { isJsonObject } from "../../cni-plugins/cni/config-object.ts";
import type { Mac } from "../api/mac.ts";
import { type Finding, finding } from "./finding.ts";
import type { PluginCall } from "./network-config.ts";

/** MAC addresses in a network's configuration: its pods all get the same one, and the MAC pool knows of none. */

const FROM_RUNTIME = ["runtimeConfig", "mac"];
const FROM_ARGS = ["args", "cni", "mac"];
const OWN = ["mac"];

/** Where plugins read an address in their configuration. Others, such as `ovs` and `macvtap`, take one from the pod alone. */
const READ_BY: Readonly<Record<string, readonly (readonly string[])[]>> = {
  bridge: [FROM_RUNTIME, FROM_ARGS],
  "cnv-bridge": [FROM_RUNTIME, FROM_ARGS],
  tuning: [FROM_ARGS, FROM_RUNTIME, OWN],
  "cnv-tuning": [FROM_ARGS, FROM_RUNTIME, OWN],
  macvlan: [FROM_RUNTIME, OWN],
  sriov: [FROM_RUNTIME, OWN],
  tap: [FROM_RUNTIME, OWN],
};

const MAC_BITS = 48;
const MAX_ADDRESS_CHARS = 20;

export function checkMacs({ type, place, stdin }: PluginCall): Finding[] {
  const paths = Object.hasOwn(READ_BY, type) ? READ_BY[type] : undefined;
  if (paths === undefined) return [];
  const config: unknown = JSON.parse(stdin);
  return paths.flatMap((path) => {
    const address = valuesAt(config, path).find((value) => typeof value === "string" && value !== "");
    if (typeof address !== "string") return [];
    const what = `"${path.join(".")}" gives pods of this network one address, ${address.slice(0, MAX_ADDRESS_CHARS)}, in spite of the MAC pool`;
    return [finding("mac-in-network", `${place}${what}: their frames get lost. Remove it: pods then have their own.`)];
  });
}

/** `poolWith`: the name of a MACPool with an address from the first to the last. Without the spoof check, everything passes anyway. */
export function checkAllowedMacs(
  { spoofCheck, allowedMacs }: BridgeConfig,
  poolWith: (first: Mac, last: Mac) => string | undefined,
  place: string,
): Finding[] {
  for (const prefix of spoofCheck ? allowedMacs : []) {
    const first = prefix.mac.reduce((sum, octet) => sum * 256 + octet, 0);
    const pool = poolWith(first as Mac, (first + 2 ** (MAC_BITS - prefix.length) - 1) as Mac);
    if (pool === undefined) continue;
    const what = `"allowedMacs" has ${formatMacPrefix(prefix)}, which holds addresses of MACPool ${pool}`;
    const advice = "pods may send as the VMs that have those. Write addresses that no MACPool has.";
    return [finding("allowed-macs-of-pool", `${place}${what}: ${advice}`)];
  }
  return [];
}

/** All of them: runtimes sort the keys, and so decide which of two spellings is the last, which plugins take. */
function valuesAt(value: unknown, [key, ...rest]: readonly string[]): unknown[] {
  if (key === undefined) return [value];
  if (!isJsonObject(value)) return [];
  const spelled = Object.keys(value).filter((one) => one.toLowerCase() === key.toLowerCase());
  return spelled.flatMap((one) => valuesAt(value[one], rest));
}
