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
