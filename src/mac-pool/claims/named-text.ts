import type { ClaimOwner } from "../../api/mac-claim.ts";
import { describeObject } from "./owner.ts";

/** Names an owner to whoever reads the text. */
export type Describe = (owner: ClaimOwner) => string;

/** A text that may name owners of an address, which not every reader may know about. */
export interface NamedText {
  /** With all names: for logs. */
  readonly message: string;
  readonly naming?: {
    readonly owners: readonly ClaimOwner[];
    readonly render: (describe: Describe) => string;
  };
}

export const SOMEBODY = "an object in another namespace";

export function namedText(owners: readonly ClaimOwner[], render: (describe: Describe) => string): NamedText {
  return { message: render(describeObject), naming: { owners, render } };
}

/** Owners that a text names; a claim can have 64 of them. */
const MAX_NAMED = 5;

/** `VirtualMachine default/web (a) and an object in another namespace`. */
export function describeOwners(owners: readonly ClaimOwner[], describe: Describe): string {
  const texts = owners.map((owner) => {
    const text = describe(owner);
    return text === SOMEBODY ? text : `${text} (${owner.interface})`;
  });
  const distinct = [...new Set(texts)];
  if (distinct.length <= MAX_NAMED) return distinct.join(" and ");
  const named = distinct.slice(0, MAX_NAMED);
  const others = texts.filter((text) => !named.includes(text)).length;
  return `${named.join(", ")} and ${others} more`;
}

/** How to get an address from its owners. Who may not know one of them can do nothing about it. */
export function takingFrom(owners: readonly ClaimOwner[], describe: Describe): string {
  if (owners.some((owner) => describe(owner) === SOMEBODY)) return "its owner has to give it up first";
  const pods = owners.filter(({ kind }) => kind === "Pod").length;
  if (pods === 0) return "first remove it from the other VM";
  return pods === owners.length ? "delete the other pod first" : "first remove it from the VM, and delete the pod";
}
