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
const LONG_CHARS = 4_096;

/** The attachments that a pod asks multus for. */
export function podNetworks(pod: unknown): NetworkSelection {
  return parseNetworkSelection(networksText(pod));
}

const networksText = (pod: unknown): string => textAt(pod, "metadata", "annotations", NETWORKS_ANNOTATION);

/** An address that a pod asks for, and the network as claims have it. */
export interface AskedMac {
  readonly mac: Mac;
  readonly interface: string;
  readonly network: string;
}

/** The first of the addresses that a pod asks multus for. */
export const askedMacs = readOnce(networksText, (pod): readonly AskedMac[] => {
  const networks = podNetworks(pod);
  const elements = "elements" in networks ? networks.elements : [];
  const asked = elements.flatMap((element) =>
    [element.mac, ...element.otherMacs].flatMap((text) => {
      const mac = text === "" ? undefined : parseMac(text);
      return mac === undefined ? [] : [{ mac, interface: element.interface, network: networkOf(element) }];
    }),
  );
  return asked.slice(0, MAX_POD_MACS);
});

/** Each address of a pod is looked up by itself, and a text of it can be 256 kB long: reading that takes milliseconds. */
export function readOnce<T>(textOf: (pod: unknown) => string, read: (pod: object) => T): (pod: object) => T {
  const known = new WeakMap<object, T>();
  return (pod) => {
    if (textOf(pod).length < LONG_CHARS) return read(pod);
    const value = known.get(pod) ?? read(pod);
    known.set(pod, value);
    return value;
  };
}

export function isFinished(pod: unknown): boolean {
  return isFinishedPhase(textAt(pod, "status", "phase"));
}
