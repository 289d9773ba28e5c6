import { networkOf } from "../../api/claim-network.ts";
import { type Mac, parseMac } from "../../api/mac.ts";
import { NETWORKS_ANNOTATION } from "../../api/names.ts";
import { type NetworkSelection, parseNetworkSelection } from "../../api/network-selection.ts";
import { isFinishedPhase } from "../../api/phase.ts";
import { textAt } from "../../kube/json-path.ts";
import { MAX_INTERFACES } from "../claims/limits.ts";

/**
 * Addresses of a pod that are looked at: as many as it may ask for, beside those that it asked for before. Whoever writes the
 * pod can write thousands.
 */
export const MAX_POD_MACS = 2 * MAX_INTERFACES;

/** From this length on, what was read of a text is kept as long as its object. */
const LONG_CHARS = 512;

/** The attachments that a pod asks multus for. */
export function podNetworks(pod: unknown): NetworkSelection {
  return parseNetworkSelection(networksText(pod));
}

const networksText = (pod: unknown): string => textAt(pod, "metadata", "annotations", NETWORKS_ANNOTATION);

/** An address that a pod asks for, and the network as claims have it. */
export interface AskedMac {
  readonly mac: Mac;
  /** How many of the pod's addresses come before. */
  readonly index: number;
  readonly interface: string;
  readonly network: string;
}

const asked = readOnce(networksText, (pod) => {
  const networks = podNetworks(pod);
  const elements = "elements" in networks ? networks.elements : [];
  const all = elements.flatMap((element) =>
    [element.mac, ...element.otherMacs].flatMap((text) => {
      const mac = text === "" ? undefined : parseMac(text);
      return mac === undefined ? [] : [{ mac, interface: element.interface, network: networkOf(element) }];
    }),
  );
  const first: readonly AskedMac[] = all.slice(0, MAX_POD_MACS).map((each, index) => ({ ...each, index }));
  return { first, byMac: Map.groupBy(first, ({ mac }) => mac) };
});

/** The first of the addresses that a pod asks multus for. */
export const askedMacs = (pod: object): readonly AskedMac[] => asked(pod).first;

/** Those of them that are this address. Many pods may list it, each among many others. */
export const askedFor = (pod: object, mac: Mac): readonly AskedMac[] => asked(pod).byMac.get(mac) ?? [];

/** Each address of an object is looked up by itself, and an annotation can be 256 kB long: reading that takes milliseconds. */
export function readOnce<T>(textOf: (pod: unknown) => string, read: (pod: object) => T): (pod: object) => T {
  return keptFor((pod) => textOf(pod).length >= LONG_CHARS, read);
}

/** What was read of a long object is kept as long as the object. Nobody changes an object that is in a cache. */
export function keptFor<O extends object, T>(isLong: (object: O) => boolean, read: (object: O) => T): (object: O) => T {
  const known = new WeakMap<O, T>();
  return (object) => {
    if (!isLong(object)) return read(object);
    const value = known.get(object) ?? read(object);
    known.set(object, value);
    return value;
  };
}

export function isFinished(pod: unknown): boolean {
  return isFinishedPhase(textAt(pod, "status", "phase"));
}
