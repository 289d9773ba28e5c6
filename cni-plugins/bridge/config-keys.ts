/** The keys of a bridge configuration, and warnings about keys without effect. */

import type { ConfigObject, Warn, WarningKind } from "../cni/config-object.ts";
import { knownKey, PROTOCOL_KEYS, unknownKey } from "../cni/known-key.ts";

const IGNORED_NAMED = 10;
const ENTRY_CHARACTERS_SHOWN = 60;

const KNOWN_KEYS = [
  ...PROTOCOL_KEYS,
  ...["bridge", "isGateway", "isDefaultGateway", "forceAddress", "ipMasq", "ipMasqBackend", "mtu", "hairpinMode"],
  ...["promiscMode", "vlan", "vlanTrunk", "preserveDefaultVlan", "enableVlanFiltering", "requireVlanFiltering"],
  ...["macspoofchk", "allowedMacs", "enabledad", "disableContainerInterface", "portIsolation", "quiet", "acceptRa"],
];

const DNS_KEYS = ["nameservers", "domain", "search", "options"];
const TRUNK_KEYS = ["id", "minID", "maxID"];

/** Keys that mean something only when the container gets addresses. */
const NEED_ADDRESSES = ["isGateway", "isDefaultGateway", "forceAddress", "ipMasq", "ipMasqBackend", "enabledad"];

const NEED_VLANS = ["preserveDefaultVlan", "enableVlanFiltering", "requireVlanFiltering"];

const NEED_SPOOF_CHECK = ["allowedMacs"];

export interface KeysInUse {
  readonly addresses: boolean;
  readonly vlans: boolean;
  readonly spoofCheck: boolean;
}

export function warnAboutKeys(config: ConfigObject, uses: KeysInUse, warn: Warn): void {
  let ignored = 0;
  const ignore = (kind: WarningKind, text: () => string) => {
    if (++ignored <= IGNORED_NAMED) warn(text(), kind);
  };
  /** Whether one of the known keys has a value. */
  const visit = (values: Readonly<Record<string, unknown>>, path: string, known: readonly string[]): boolean => {
    let used = false;
    for (const key of Object.keys(values)) {
      if (knownKey(key, known) === undefined) ignore("unknown key", () => unknownKey(key, path, known));
      else used ||= values[key] !== null;
    }
    return used;
  };
  for (const key of config.keys()) {
    const known = knownKey(key, KNOWN_KEYS);
    if (known === undefined) {
      ignore("unknown key", () => unknownKey(key, "", KNOWN_KEYS));
      continue;
    }
    const value = config.raw(known);
    if (known === "dns" && isObject(value)) visit(value, "dns.", DNS_KEYS);
    else if (known === "vlanTrunk" && Array.isArray(value)) {
      for (const [i, entry] of value.entries()) {
        const path = `vlanTrunk[${i}]`;
        if (isObject(entry) && !visit(entry, `${path}.`, TRUNK_KEYS)) ignore("no VLAN", () => namesNoVlan(path, entry));
      }
    } else if (value !== undefined && value !== false) {
      const lacks = (needed: string) => warn(`"${key}" has no effect without ${needed}`, "no effect");
      if (!uses.addresses && NEED_ADDRESSES.includes(known)) lacks('"ipam"');
      if (!uses.vlans && NEED_VLANS.includes(known)) lacks('"vlan" or "vlanTrunk"');
      if (!uses.spoofCheck && NEED_SPOOF_CHECK.includes(known)) lacks('"macspoofchk": true');
    }
  }
  if (ignored > IGNORED_NAMED) warn(`${ignored - IGNORED_NAMED} more keys or entries are ignored`, "unknown key");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** The reference takes such an entry too. */
function namesNoVlan(path: string, entry: object): string {
  const shown = JSON.stringify(entry).slice(0, ENTRY_CHARACTERS_SHOWN);
  return `"${path}" is ${shown}, which names no VLAN: write {"id": 5} or {"minID": 10, "maxID": 20}`;
}
