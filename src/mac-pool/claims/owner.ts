import { type ClaimOwner, MAX_NAME_CHARS, MAX_NETWORK_CHARS, type OwnerKind } from "../../api/mac-claim.ts";

/**
 * An object that has or wants an address. In a claim it is known by kind + namespace + name, or by the generateName prefix,
 * which several objects can have.
 */
export interface ObjectReference {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly uid?: string | undefined;
}

/** An object and its interface that has the address. */
export interface InterfaceOwner extends ObjectReference {
  readonly interface: string;
  readonly network?: string | undefined;
  /** Layer-2 domains that the interface is or was in, where its pool asks for them and they are known. */
  readonly domains?: readonly string[] | undefined;
  /** A VM that waits to receive a live migration, or has received one; undefined where only its VM could tell. */
  readonly receiver?: boolean | undefined;
}

/** An owner as it was seen in an object. */
export interface ObservedOwner extends InterfaceOwner {
  /** Whether it is made an owner where the claim does not know it; false for what only delays a release, and for what only lists it. */
  readonly countsAsOwner: boolean;
  /** No claim names it, and nobody has reviewed whether it may have the address: it keeps it from nobody. */
  readonly onlyLists?: true;
  /** Only a pod says so that calls itself a launcher. */
  readonly byLauncher?: true;
}

/** The same object: UIDs decide where both are known, else the name. Two prefixes are never the same object. */
export function isSameObject(a: ObjectReference, b: ObjectReference): boolean {
  if (a.kind !== b.kind || a.namespace !== b.namespace) return false;
  if (a.uid !== undefined && b.uid !== undefined) return a.uid === b.uid;
  return a.name !== undefined && a.name === b.name;
}

/**
 * Whether an object may be the one that an owner of a claim stands for: it has its name, or its prefix where the API server
 * completes the name. UIDs don't count: a claim is not written again when another object takes the name.
 */
export function mayBe(owner: ObjectReference, object: ObjectReference): boolean {
  if (owner.kind !== object.kind || owner.namespace !== object.namespace) return false;
  if (owner.name !== undefined) return owner.name === object.name;
  const { generateName } = owner;
  if (object.name === undefined) return generateName !== undefined && generateName === object.generateName;
  return generateName !== undefined && object.name.startsWith(generateName);
}

/** A prefix must not take the object that another owner was admitted for by its name; the longer one fits least others. */
export function mostExactFirst(owners: readonly ClaimOwner[]): readonly ClaimOwner[] {
  const exactness = ({ name, generateName = "" }: ClaimOwner): number =>
    name === undefined ? generateName.length : Number.MAX_SAFE_INTEGER;
  return owners.length < 2 ? owners : [...owners].sort((a, b) => exactness(b) - exactness(a));
}

/** Its beginning where it is longer than names are. */
export const cut = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : text.slice(0, maxChars);

/** `VirtualMachine default/web`, or `VirtualMachine default/web-*` where the API server completes the name. */
export function describeObject(ref: ObjectReference): string {
  const { kind, namespace, name, generateName } = ref;
  return `${kind} ${namespace}/${cut(name ?? `${generateName ?? ""}*`, MAX_NAME_CHARS)}`;
}

/** Objects that were written past the webhook may have names that a claim has no room for. */
export function ownerOf(from: InterfaceOwner, since: string): ClaimOwner {
  const { kind, namespace, name, generateName, uid, network, domains, receiver } = from;
  const owner: { -readonly [K in keyof ClaimOwner]: ClaimOwner[K] } = {
    kind,
    namespace,
    interface: cut(from.interface, MAX_NAME_CHARS),
    since,
  };
  if (name !== undefined) owner.name = name;
  else if (generateName !== undefined) owner.generateName = generateName;
  if (uid !== undefined) owner.uid = uid;
  if (network !== undefined) owner.network = cut(network, MAX_NETWORK_CHARS);
  if (domains !== undefined) owner.domains = [...domains];
  if (receiver === true) owner.receiver = true;
  return owner;
}
