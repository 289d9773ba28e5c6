/**
 * The networks a pod asks for, read from its annotations as multus 4 reads them. Pure.
 */

export interface NetworkSelection {
  readonly namespace: string;
  readonly name: string;
}

export type NetworkSelections =
  | { readonly ok: true; readonly networks: readonly NetworkSelection[] }
  | { readonly ok: false; readonly reason: string };

/** multus tells the two forms of the annotation apart by these characters. */
const JSON_FORM = /[[{"]/;

/** multus' own rule for each part of `namespace/name@interface`. */
const PART = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Both forms: a JSON list of objects, and the shorthand `[namespace/]name[@interface], ...`. Blank means none. */
export function parseNetworkSelections(annotation: string, defaultNamespace: string): NetworkSelections {
  if (annotation.trim() === "") return { ok: true, networks: [] };
  return JSON_FORM.test(annotation)
    ? parseJson(annotation, defaultNamespace)
    : parseShorthand(annotation, defaultNamespace);
}

function parseJson(text: string, defaultNamespace: string): NetworkSelections {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    return refused(`it is no valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!Array.isArray(list)) return refused("it must be a JSON list of objects with a name");
  const networks: NetworkSelection[] = [];
  for (const [index, element] of list.entries()) {
    const { name, namespace } = (element ?? {}) as { name?: unknown; namespace?: unknown };
    if (typeof name !== "string" || name === "") return refused(`element ${index} has no name`);
    if (namespace !== undefined && namespace !== null && typeof namespace !== "string") {
      return refused(`the namespace of element ${index} is not a string`);
    }
    networks.push({ namespace: namespace || defaultNamespace, name });
  }
  return { ok: true, networks };
}

function parseShorthand(text: string, defaultNamespace: string): NetworkSelections {
  const networks: NetworkSelection[] = [];
  for (const item of text.split(",").map((piece) => piece.trim())) {
    const slashed = item.split("/");
    const [name = "", ...interfaces] = (slashed.at(-1) ?? "").split("@").map((piece) => piece.trim());
    const namespace = slashed.length === 2 ? (slashed[0] ?? "").trim() : defaultNamespace;
    const interfaceFits = interfaces.length === 0 || (interfaces.length === 1 && interfaces[0] !== "");
    if (slashed.length > 2 || !interfaceFits || !PART.test(name) || !PART.test(namespace)) {
      return refused(`${JSON.stringify(item)} is not of the form [namespace/]name[@interface]`);
    }
    networks.push({ namespace, name });
  }
  return { ok: true, networks };
}

function refused(reason: string): NetworkSelections {
  return { ok: false, reason };
}
