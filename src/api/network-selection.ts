/**
 * The annotation `k8s.v1.cni.cncf.io/networks` of a pod, read as multus 4 reads it. Part of the contract. Pure.
 */

import { type Mac, parseMac } from "./mac.ts";

/** One attachment that a pod asks for. */
export interface NetworkElement {
  /** As it stands in the annotation, unknown fields included; shorthand entries are converted. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Empty: the pod's own namespace. */
  readonly namespace: string;
  readonly name: string;
  /** `net<N>` by position, as multus names it, where the element does not say. */
  readonly interface: string;
  /** As written; empty where the element asks for none. */
  readonly mac: string;
  /**
   * Further addresses of the same element; mostly none. `mac`, `MAC` and `cni-args` can name one each, and the order of the
   * keys and the configuration of the network decide which of them the plugin takes.
   */
  readonly otherMacs: readonly string[];
}

export type NetworkSelection =
  /** Blank. */
  | { readonly form: "none" }
  | { readonly form: "malformed"; readonly reason: string }
  | {
      readonly form: "list" | "shorthand";
      readonly elements: readonly NetworkElement[];
      /** There are more elements than were asked for. They were not read. */
      readonly cut: boolean;
    };

/** multus tells the two forms of the annotation apart by these characters. */
const LIST_FORM = /[[{"]/;

/** multus' own rule for namespace and name in the shorthand form. */
const PART = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** A Linux interface name. */
const INTERFACE = /^[^@\s/:]{1,15}$/;

/** More than fit into any object, and less than 2^32, where `split` would count anew. */
const ALL = 2 ** 31;

/** Of what somebody wrote, as much as a message repeats. */
const MAX_QUOTED = 64;

/**
 * Both forms: a JSON list of objects, and the shorthand `[namespace/]name[@interface], ...`. Never throws, whatever the text
 * is. `limit`: how many elements are read.
 */
export function parseNetworkSelection(annotation: string, limit = ALL): NetworkSelection {
  const text = annotation.trim();
  if (text === "") return { form: "none" };
  return LIST_FORM.test(text) ? parseList(text, limit) : parseShorthand(text, limit);
}

function parseList(text: string, limit: number): NetworkSelection {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    return malformed(`it is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!Array.isArray(list)) return malformed("it must be a JSON list of objects with a name");
  const elements: NetworkElement[] = [];
  for (const [index, raw] of list.slice(0, limit).entries()) {
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
      return malformed(`element ${index} is not an object`);
    }
    const texts: Record<string, string | null> = {};
    const macs: string[] = [];
    for (const [key, value] of Object.entries(raw)) {
      const field = TEXTS.find((text) => text === key.toLowerCase());
      if (field === undefined) continue;
      if (typeof (value ?? "") !== "string") return malformed(`"${key}" of element ${index} is not a string`);
      texts[field] = value as string | null;
      if (field === "mac" && typeof value === "string" && value !== "") macs.push(value);
    }
    if (!texts.name) return malformed(`element ${index} has no name`);
    elements.push(element(raw, texts, index, distinctMacs([...macs, ...macsOfArguments(raw)])));
  }
  return { form: "list", elements, cut: list.length > limit };
}

/** multus reads the keys of an element in any case, as every Go program does. */
const TEXTS = ["name", "namespace", "interface", "mac"] as const;

/** Addresses that multus passes to the plugin in `args.cni`. */
function macsOfArguments(raw: object): string[] {
  const valuesOf = (object: object, name: string): unknown[] =>
    Object.entries(object).flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
  return valuesOf(raw, "cni-args")
    .flatMap((given) => (typeof given === "object" && given !== null ? valuesOf(given, "mac") : []))
    .filter((mac) => typeof mac === "string" && mac !== "") as string[];
}

/** Each address in the first notation of it. */
function distinctMacs(texts: readonly string[]): string[] {
  const addresses = new Map<Mac | string, string>();
  for (const text of texts) {
    const address = parseMac(text) ?? text;
    if (!addresses.has(address)) addresses.set(address, text);
  }
  return [...addresses.values()];
}

function parseShorthand(text: string, limit: number): NetworkSelection {
  const elements: NetworkElement[] = [];
  const pieces = text.split(",", limit + 1);
  for (const [index, piece] of pieces.slice(0, limit).entries()) {
    const item = piece.trim();
    const slash = item.indexOf("/");
    const at = item.indexOf("@");
    const namespace = slash < 0 ? undefined : item.slice(0, slash).trim();
    const name = item.slice(slash + 1, at < 0 ? undefined : at).trim();
    const ifname = at < 0 ? undefined : item.slice(at + 1).trim();
    const fits = PART.test(name) && PART.test(namespace ?? name) && INTERFACE.test(ifname ?? name.slice(0, 1));
    if (!fits)
      return malformed(`${JSON.stringify(item.slice(0, MAX_QUOTED))} is not of the form [namespace/]name[@interface]`);
    const raw = {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(ifname !== undefined && { interface: ifname }),
    };
    elements.push(element(raw, raw, index, []));
  }
  return { form: "shorthand", elements, cut: pieces.length > limit };
}

type Texts = Readonly<Partial<Record<(typeof TEXTS)[number], string | null>>>;

function element(
  raw: Readonly<Record<string, unknown>>,
  texts: Texts,
  index: number,
  [mac = "", ...otherMacs]: readonly string[],
): NetworkElement {
  return {
    raw,
    namespace: texts.namespace || "",
    name: texts.name || "",
    interface: texts.interface || `net${index + 1}`,
    mac,
    otherMacs,
  };
}

function malformed(reason: string): NetworkSelection {
  return { form: "malformed", reason };
}

/**
 * Admission warning for an annotation that multus would not understand. Several webhooks read it; the API server tells a
 * client once what they say with the same words.
 */
export function unreadable(annotation: string, reason: string): string {
  return `annotation ${annotation} can't be read, so nothing is added to the pod for it: ${reason}.`;
}
