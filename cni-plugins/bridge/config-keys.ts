/** The keys of a bridge configuration, and warnings about the ones that do nothing. */

import type { ConfigObject } from "../protocol/config-object.ts";
import { nearestKey } from "../protocol/nearest-key.ts";

const UNKNOWN_KEYS_NAMED = 10;
const KEY_CHARACTERS_SHOWN = 60;

const KNOWN_KEYS = [
  "cniVersion",
  "name",
  "type",
  "args",
  "runtimeConfig",
  "capabilities",
  "prevResult",
  "dns",
  "ipam",
  "disableCheck",
  "disableGC",
  "cni.dev/valid-attachments",
  "cni.dev/attachments",
  "bridge",
  "isGateway",
  "isDefaultGateway",
  "forceAddress",
  "ipMasq",
  "ipMasqBackend",
  "mtu",
  "hairpinMode",
  "promiscMode",
  "vlan",
  "vlanTrunk",
  "preserveDefaultVlan",
  "enableVlanFiltering",
  "requireVlanFiltering",
  "macspoofchk",
  "enabledad",
  "disableContainerInterface",
  "portIsolation",
  "quiet",
];

/** Keys that mean something only when the container gets addresses. */
const NEED_ADDRESSES = ["isGateway", "isDefaultGateway", "forceAddress", "ipMasq", "ipMasqBackend", "enabledad"];

const NEED_VLANS = ["preserveDefaultVlan", "enableVlanFiltering", "requireVlanFiltering"];

export interface KeysInUse {
  readonly addresses: boolean;
  readonly vlans: boolean;
}

export function warnAboutKeys(config: ConfigObject, uses: KeysInUse, warn: (text: string) => void): void {
  let unknown = 0;
  for (const key of config.keys()) {
    const known = knownKey(key);
    if (known === undefined) {
      if (++unknown <= UNKNOWN_KEYS_NAMED) warnAboutUnknown(key, warn);
    } else if (config.raw(known) !== undefined && config.raw(known) !== false) {
      if (!uses.addresses && NEED_ADDRESSES.includes(known)) warn(`"${key}" has no effect without "ipam"`);
      if (!uses.vlans && NEED_VLANS.includes(known)) warn(`"${key}" has no effect without "vlan" or "vlanTrunk"`);
    }
  }
  if (unknown > UNKNOWN_KEYS_NAMED) warn(`${unknown - UNKNOWN_KEYS_NAMED} more unknown keys are ignored`);
}

function warnAboutUnknown(key: string, warn: (text: string) => void): void {
  const nearest = nearestKey(key, KNOWN_KEYS);
  const hint = nearest === undefined ? "" : `: did you mean "${nearest}"?`;
  warn(`unknown key "${key.slice(0, KEY_CHARACTERS_SHOWN)}" is ignored${hint}`);
}

function knownKey(key: string): string | undefined {
  if (KNOWN_KEYS.includes(key)) return key;
  const folded = key.toLowerCase();
  return KNOWN_KEYS.find((candidate) => candidate.toLowerCase() === folded);
}
