import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../api/names.ts";
import { at, textAt } from "./json-path.ts";

/** One attachment that a pod asks multus for. */
export interface NetworkElement {
  /** As it stands in the annotation, unknown fields included; shorthand entries are converted. */
  readonly raw: Readonly<Record<string, unknown>>;
  readonly network: string;
  /** `net<N>` by position, as multus names it, where the element does not say. */
  readonly interface: string;
  readonly mac: string;
}

export type PodNetworks =
  /** No annotation, or an empty one. */
  | { readonly form: "none" }
  | { readonly form: "malformed"; readonly reason: string }
  | { readonly form: "list" | "shorthand"; readonly elements: readonly NetworkElement[] };

/** multus' own pattern of a shorthand entry: `[namespace/]name[@interface]`. */
const SHORTHAND = /^(?:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)\/)?([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)(?:@([^@\s]{1,15}))?$/;

/** The networks annotation of a pod in any form that multus accepts. */
export function podNetworks(pod: unknown): PodNetworks {
  const text = textAt(pod, "metadata", "annotations", NETWORKS_ANNOTATION).trim();
  if (text === "") return { form: "none" };
  return text.startsWith("[") || text.startsWith("{") ? parseList(text) : parseShorthand(text);
}

/** Set by multus once the pod has its networks: nothing can be asked for any more. */
export function hasNetworkStatus(pod: unknown): boolean {
  return typeof at(pod, "metadata", "annotations", NETWORK_STATUS_ANNOTATION) === "string";
}

export function isFinished(pod: unknown): boolean {
  const phase = textAt(pod, "status", "phase");
  return phase === "Succeeded" || phase === "Failed";
}

function parseList(text: string): PodNetworks {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { form: "malformed", reason: error instanceof Error ? error.message : String(error) };
  }
  if (!Array.isArray(parsed)) return { form: "malformed", reason: "it is not a list" };
  const strange = parsed.findIndex((entry) => typeof entry !== "object" || entry === null || Array.isArray(entry));
  if (strange >= 0) return { form: "malformed", reason: `element ${strange} is not an object` };
  return { form: "list", elements: parsed.map((raw: Record<string, unknown>, index) => element(raw, index)) };
}

function parseShorthand(text: string): PodNetworks {
  const elements: NetworkElement[] = [];
  for (const [index, entry] of text.split(",").entries()) {
    const match = SHORTHAND.exec(entry.trim());
    if (match === null)
      return { form: "malformed", reason: `${JSON.stringify(entry.trim())} is not [namespace/]name[@interface]` };
    const [, namespace, name, ifname] = match;
    const raw = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(ifname === undefined ? {} : { interface: ifname }),
    };
    elements.push(element(raw, index));
  }
  return { form: "shorthand", elements };
}

function element(raw: Readonly<Record<string, unknown>>, index: number): NetworkElement {
  const namespace = textAt(raw, "namespace");
  const name = textAt(raw, "name");
  return {
    raw,
    network: `multus ${namespace === "" ? name : `${namespace}/${name}`}`,
    interface: textAt(raw, "interface") || `net${index + 1}`,
    mac: textAt(raw, "mac"),
  };
}
