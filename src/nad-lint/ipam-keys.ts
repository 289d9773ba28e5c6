import { ConfigObject, isJsonObject } from "../../cni-plugins/cni/config-object.ts";
import { nearestKey } from "../../cni-plugins/cni/known-key.ts";

/** The keys that the IPAM plugins `host-local` and `static` know. They ignore others without a word. */

const ROUTE = ["dst", "gw", "mtu", "advmss", "priority", "table", "scope"];
const DNS = ["nameservers", "domain", "search", "options"];
const RANGE = ["subnet", "rangeStart", "rangeEnd", "gateway"];
const COMMON = ["type", "name", "routes"];

interface Keys {
  readonly own: readonly string[];
  /** Those of the objects below a key, however deep its lists are. */
  readonly below: Readonly<Record<string, readonly string[]>>;
}

const KEYS: Readonly<Record<string, Keys>> = {
  "host-local": {
    own: [...COMMON, ...RANGE, "ranges", "dataDir", "resolvConf"],
    below: { ranges: RANGE, routes: ROUTE },
  },
  static: {
    own: [...COMMON, "addresses", "dns"],
    below: { addresses: ["address", "gateway"], routes: ROUTE, dns: DNS },
  },
};

const MAX_NAMED = 5;
const MAX_KEY_CHARS = 40;

/** A sentence for each key without effect. */
export function unknownIpamKeys(ipam: ConfigObject): string[] {
  const type = ipam.raw("type");
  const keys = typeof type === "string" && Object.hasOwn(KEYS, type) ? KEYS[type] : undefined;
  if (keys === undefined) return [];
  const unknown = [
    ...unknownIn(ipam, "ipam.", keys.own),
    ...Object.entries(keys.below).flatMap(([key, known]) =>
      objectsIn(ipam.raw(key)).flatMap((object) => unknownIn(object, `ipam.${key}.`, known)),
    ),
  ];
  return unknown.slice(0, MAX_NAMED);
}

function unknownIn(object: ConfigObject, path: string, known: readonly string[]): string[] {
  const folded = known.map((key) => key.toLowerCase());
  return object
    .keys()
    .filter((key) => !folded.includes(key.toLowerCase()))
    .map((key) => {
      const nearest = nearestKey(key, known);
      const hint = nearest === undefined ? "" : `: did you mean "${nearest}"?`;
      return `unknown key "${path}${key.slice(0, MAX_KEY_CHARS)}" is ignored${hint === "" ? "." : hint} The key has no effect. Correct it or remove it.`;
    });
}

function objectsIn(value: unknown): ConfigObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isJsonObject(value) ? [new ConfigObject(value)] : [];
}

/** `static` gives what the configuration or the pod says, and an attachment without any address fails. */
export function givesNoAddress(config: ConfigObject): boolean {
  const ipam = config.object("ipam");
  return ipam.raw("type") === "static" && !hasSome(ipam.raw("addresses")) && !getsAddressesElsewhere(config);
}

/** Whether `static` may get addresses besides those of `ipam`: of the pod, or of a runtime's keys. */
export function getsAddressesElsewhere(config: ConfigObject): boolean {
  const capabilities = config.raw("capabilities");
  if (isJsonObject(capabilities) && capabilities.ips === true) return true;
  const cni = isJsonObject(config.raw("args")) ? config.object("args").raw("cni") : undefined;
  const runtime = config.raw("runtimeConfig");
  return [cni, runtime].some((given) => isJsonObject(given) && hasSome(given.ips));
}

function hasSome(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}
