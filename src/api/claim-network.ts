/** A network as claims and texts name it: `multus lab/blue`, `multus blue` in the namespace of its object, or of another kind. */

export interface NadRef {
  readonly namespace: string;
  readonly name: string;
}

/** The NetworkAttachmentDefinition that a network of an object in the namespace is; undefined for any other network. */
export function nadOf(network: string | undefined, namespace: string): NadRef | undefined {
  const [, owner = namespace, name] = /^multus (?:([^/ ]+)\/)?([^/ ]+)$/.exec(network ?? "") ?? [];
  return name === undefined ? undefined : { namespace: owner, name };
}

/** Inverse of `nadOf`. Without a namespace, it is that of the object. */
export function networkOf({ namespace, name }: NadRef): string {
  return `multus ${namespace === "" ? name : `${namespace}/${name}`}`;
}

/** What is wrong with a `networkName` of a VM; undefined where it names a NetworkAttachmentDefinition. */
export function networkNameFault(name: unknown): string | undefined {
  if (typeof name === "string" && nadOf(`multus ${name}`, "") !== undefined) return undefined;
  const said = typeof name === "string" ? `networkName ${JSON.stringify(name)}` : "multus without a networkName";
  return `${said} names no NetworkAttachmentDefinition: pods do not start`;
}

export const WRITE_NETWORK_NAME = "Write NAME or NAMESPACE/NAME.";
