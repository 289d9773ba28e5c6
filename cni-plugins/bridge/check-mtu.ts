/** CHECK of the MTUs of the pair. The plugin `tuning` may have changed the container's end since the ADD. */

import type { ConfigObject } from "../cni/config-object.ts";
import { DEFAULT_DATA_DIR, readOriginals, stateFile } from "../cni/tuning-state.ts";
import type { Syscalls } from "../native/syscalls.ts";
import type { Link } from "../netlink/link.ts";
import type { Attachment } from "./attachment.ts";
import type { BridgeConfig } from "./config.ts";

/** Compares with the result; if the result has no MTU, with the configuration. Undefined when they agree. */
export function containerMtuFault(
  syscalls: Syscalls,
  attachment: Attachment,
  { name, mtu }: Link,
  expected: ConfigObject,
  config: BridgeConfig,
): string | undefined {
  const told = expected.wholeNumber("mtu");
  const wanted = told || configured(config);
  if (!wanted || mtu === wanted) return undefined;
  const before = readOriginals(syscalls, stateFile(DEFAULT_DATA_DIR, attachment))?.mtu;
  // Tuning changed the MTU, and its result has no MTU or the original one.
  if (before !== undefined && (!told || told === before)) return undefined;
  return `interface ${name} has MTU ${mtu}, not ${wanted}`;
}

/** Compares with the configuration; if that has no MTU, with the result (in version 1.1.0). */
export function portMtuFault({ name, mtu }: Link, request: ConfigObject, config: BridgeConfig): string | undefined {
  const interfaces = request.object("prevResult").objects("interfaces");
  const atAdd = interfaces.find((one) => one.string("name") === name && !one.string("sandbox"));
  const wanted = configured(config) ?? atAdd?.wholeNumber("mtu");
  return wanted && mtu !== wanted ? `${name} has MTU ${mtu}, not ${wanted}` : undefined;
}

function configured({ mtu }: BridgeConfig): number | undefined {
  return typeof mtu === "number" ? mtu : undefined;
}
