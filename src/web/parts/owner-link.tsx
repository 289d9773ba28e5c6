import { ownerLink } from "../navigation.ts";

interface Owner {
  readonly kind: string;
  readonly namespace: string;
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
}

const SHORT: Readonly<Record<string, string>> = { VirtualMachine: "VM", VirtualMachineInstance: "VMI" };

export const shortKind = (kind: string): string => SHORT[kind] ?? kind;

/** `VM default/web`, a link to its history. Without a name, where only the prefix is known, it is text. */
export function OwnerLink({ owner }: { readonly owner: Owner }) {
  const { kind, namespace, name, generateName } = owner;
  const written = `${namespace}/${name ?? `${generateName ?? ""}*`}`;
  return (
    <span class="owner">
      <abbr title={kind}>{shortKind(kind)}</abbr>{" "}
      {name === undefined || name.endsWith("*") ? written : <a href={ownerLink(owner)}>{written}</a>}
    </span>
  );
}
