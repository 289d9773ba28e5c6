/** The result of the plugin before this one in the chain. ADD passes it on with its changes. */

import { CniError, INVALID_CONFIG } from "../cni/cni-error.ts";
import { type ConfigObject, isJsonObject, type JsonObject } from "../cni/config-object.ts";
import { formatMacAddress } from "../cni/mac-address.ts";
import { atLeast, type CniVersion } from "../cni/version.ts";
import type { TuningConfig } from "./config.ts";

/** Throws when there is none, or one in the form of another generation of the protocol. */
export function previousResult(config: ConfigObject, version: CniVersion): JsonObject {
  const result = config.raw("prevResult");
  if (result === undefined) {
    throw new CniError(
      INVALID_CONFIG,
      `"prevResult" is missing: put tuning in the list after the plugin whose interface it changes`,
    );
  }
  if (!isJsonObject(result)) throw config.fault("prevResult", "the result of the plugin before this one");
  const spoken = config.object("prevResult").string("cniVersion");
  if (spoken === undefined || generation(spoken) === generation(version)) return result;
  throw new CniError(
    INVALID_CONFIG,
    `"prevResult" is in the form of cniVersion ${spoken}, the configuration has ${version}: the runtime must convert it`,
  );
}

/** With the new MAC, and from version 1.1.0 on the new MTU, in every interface of that name. */
export function tunedResult(result: JsonObject, ifname: string, config: TuningConfig, version: CniVersion): JsonObject {
  const { interfaces } = result;
  if (!Array.isArray(interfaces)) return result;
  const changes = {
    ...(config.mac === undefined ? {} : { mac: formatMacAddress(config.mac) }),
    ...(config.mtu === undefined || !atLeast(version, "1.1.0") ? {} : { mtu: config.mtu }),
  };
  const tuned = interfaces.map((one: unknown) =>
    isJsonObject(one) && one.name === ifname ? { ...one, ...changes } : one,
  );
  return { ...result, interfaces: tuned };
}

/** Versions whose results have one form. */
function generation(version: string): number {
  if (version.startsWith("0.1.") || version.startsWith("0.2.")) return 0;
  return version.startsWith("0.") ? 1 : 2;
}
