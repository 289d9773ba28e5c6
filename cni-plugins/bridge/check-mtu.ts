/** CHECK of the MTU of both ends of the pair, of which the plugin `tuning` after this one may have changed the container's. */

import type { Host } from "../host/host.ts";
import type { Link } from "../netlink/link.ts";
import type { ConfigObject } from "../protocol/config-object.ts";
import { DEFAULT_DATA_DIR, readOriginals, stateFile } from "../tuning/saved-state.ts";
import type { Attachment } from "./attachment.ts";
import type { BridgeConfig } from "./config.ts";

/** Undefined when it is what the result says, or, where that says nothing, what the configuration does. */
export function containerMtuFault(
  host: Host,
  attachment: Attachment,
  { name, mtu }: Link,
  expected: ConfigObject,
  config: BridgeConfig,
): string | undefined {
  const told = expected.wholeNumber("mtu");
  const wanted = told || configured(config);
  if (!wanted || mtu === wanted) return undefined;
  const before = readOriginals(host, stateFile(DEFAULT_DATA_DIR, attachment))?.mtu;
  // The result of a tuning that tells no MTU has none, or the one of before.
  if (before !== undefined && (!told || told === before)) return undefined;
  return `interface ${name} has MTU ${mtu}, not ${wanted}`;
}

/** Where the configuration gives none, a result in version 1.1.0 has the one of ADD. */
export function portMtuFault({ name, mtu }: Link, request: ConfigObject, config: BridgeConfig): string | undefined {
  const interfaces = request.object("prevResult").objects("interfaces");
  const atAdd = interfaces.find((one) => one.string("name") === name && !one.string("sandbox"));
  const wanted = configured(config) ?? atAdd?.wholeNumber("mtu");
  return wanted && mtu !== wanted ? `${name} has MTU ${mtu}, not ${wanted}` : undefined;
}

function configured({ mtu }: BridgeConfig): number | undefined {
  return typeof mtu === "number" ? mtu : undefined;
}
