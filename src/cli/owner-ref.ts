import { OWNER_KINDS, type OwnerKind } from "../api/mac-claim.ts";
import { UsageError } from "./command-line.ts";

/** An object as a user names it. */
export interface NamedOwner {
  /** In the order to look in; one where the user says which. */
  readonly kinds: readonly OwnerKind[];
  readonly namespace: string;
  readonly name: string;
}

/** kubectl's names of the kinds; a VM is asked for before its VMI. */
const KINDS: Readonly<Record<string, OwnerKind>> = {
  ...Object.fromEntries(OWNER_KINDS.map((kind) => [kind.toLowerCase(), kind])),
  vm: "VirtualMachine",
  vmi: "VirtualMachineInstance",
  po: "Pod",
};

/** `NAME`, `NAMESPACE/NAME` or `KIND/NAMESPACE/NAME`. Throws a `UsageError` for anything else. */
export function parseOwner(text: string, namespace: string): NamedOwner {
  const parts = text.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 3 || parts.includes("")) {
    throw new UsageError(`${JSON.stringify(text)} names no object: write NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME`);
  }
  if (parts.length < 3)
    return { kinds: OWNER_KINDS, namespace: parts.length === 2 ? (parts[0] ?? "") : namespace, name };
  const kind = KINDS[parts[0]?.toLowerCase() ?? ""];
  if (kind !== undefined) return { kinds: [kind], namespace: parts[1] ?? "", name };
  throw new UsageError(`unknown kind ${JSON.stringify(parts[0])}: use vm, vmi or pod`);
}
