/** The annotation by which a pod asks for networks, in both its forms. Pure. */

export const NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks";

/** One network that a pod asks for. */
export interface NetworkSelection {
  readonly namespace: string;
  readonly name: string;
  /** Name of the link in the pod. */
  readonly interface: string;
  readonly mac?: string;
  readonly ips?: readonly string[];
  /** Goes into `args.cni` of each plugin. */
  readonly cniArgs?: Readonly<Record<string, unknown>>;
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const INTERFACE = /^[^\s/:]{1,15}$/;
const SHORTHAND = /^(?:([^/@]+)\/)?([^/@]+)(?:@([^/@]+))?$/;

/** Throws, in one sentence, when the annotation can't be understood. Names without namespace are in the pod's. */
export function parseNetworks(annotation: string, podNamespace: string): NetworkSelection[] {
  const text = annotation.trim();
  if (text === "") return [];
  const elements = /[[{"]/.test(text) ? parseJson(text) : text.split(",").map(parseShorthand);
  return elements.map((element, index) => complete(element, index, podNamespace));
}

/** An element as written. */
interface Element {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly interface?: unknown;
  readonly mac?: unknown;
  readonly ips?: unknown;
  readonly "cni-args"?: unknown;
}

function parseJson(text: string): Element[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new Error(`networks annotation: not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!Array.isArray(parsed)) throw new Error("networks annotation: expected a JSON list");
  return parsed as Element[];
}

function parseShorthand(text: string): Element {
  const [, namespace, name, link] = SHORTHAND.exec(text.trim()) ?? [];
  if (name === undefined) throw new Error(`networks annotation: "${text.trim()}" is not [namespace/]name[@interface]`);
  return { name, namespace, interface: link };
}

function complete(element: Element, index: number, podNamespace: string): NetworkSelection {
  const where = `networks annotation, element ${index + 1}`;
  const { name, namespace = podNamespace, interface: link = `net${index + 1}`, mac, ips } = element;
  if (typeof name !== "string" || !NAME.test(name))
    throw new Error(`${where}: name ${JSON.stringify(name)} is not valid`);
  if (typeof namespace !== "string" || !NAME.test(namespace)) {
    throw new Error(`${where}: namespace ${JSON.stringify(namespace)} is not valid`);
  }
  if (typeof link !== "string" || !INTERFACE.test(link)) {
    throw new Error(`${where}: interface ${JSON.stringify(link)} is not valid`);
  }
  return {
    namespace,
    name,
    interface: link,
    ...(typeof mac === "string" && mac !== "" ? { mac } : {}),
    ...(Array.isArray(ips) && ips.length > 0 ? { ips: ips as string[] } : {}),
    ...(isObject(element["cni-args"]) ? { cniArgs: element["cni-args"] } : {}),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
