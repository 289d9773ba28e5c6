/**
 * MACClaim: one MAC address in use. Its name is the address, so that its creation is the decision who gets it.
 * There is no status subresource: one create writes all of it.
 */

import * as z from "zod";
import { canonicalMac } from "./canonical-mac.ts";
import { celRules } from "./cel.ts";
import { MAC_POOL_GROUP } from "./names.ts";
import type { ObjectMeta } from "./object-meta.ts";

export const CLAIM_LABEL_NAMESPACE = `${MAC_POOL_GROUP}/namespace`;
export const CLAIM_LABEL_KIND = `${MAC_POOL_GROUP}/kind`;
export const CLAIM_LABEL_PHASE = `${MAC_POOL_GROUP}/phase`;

/** Version 0.1 wrote these. Both mean Allocated, and a claim keeps its one until somebody writes it again. */
const FORMER_PHASES = ["Pending", "Bound"] as const;
const CLAIM_PHASES = ["Allocated", "Quarantined", ...FORMER_PHASES] as const;
export type ClaimPhase = (typeof CLAIM_PHASES)[number];

/** Phases that readers are told. Whether an object has listed the address since it was allocated last, caches know and no claim. */
export const SHOWN_PHASES = ["Pending", "Bound", "Quarantined"] as const;
export type ShownPhase = (typeof SHOWN_PHASES)[number];

export const CLAIM_ORIGINS = ["automatic", "explicit", "observed"] as const;
export type ClaimOrigin = (typeof CLAIM_ORIGINS)[number];

export const OWNER_KINDS = ["VirtualMachine", "VirtualMachineInstance", "Pod"] as const;
export type OwnerKind = (typeof OWNER_KINDS)[number];

/** Owners that a claim can list: bounds its size where many objects are let share one address. */
export const MAX_CLAIM_OWNERS = 64;

/** Of an object or an interface: a DNS subdomain. KubeVirt has no limit for interfaces, and the kernel one of 15. */
export const MAX_NAME_CHARS = 253;
/** Of a namespace: a DNS label. */
export const MAX_NAMESPACE_CHARS = 63;
/** UUIDs have 36. */
export const MAX_UID_CHARS = 128;
/** `multus NAMESPACE/NAME`, as claims name a network. */
export const MAX_NETWORK_CHARS = "multus /".length + MAX_NAMESPACE_CHARS + MAX_NAME_CHARS;
/** Layer-2 domains that an owner can collect by moving from network to network; with more, it is in an unknown one. */
export const MAX_CLAIM_DOMAINS = 8;
/** `network NAME` is the longest. */
const MAX_DOMAIN_CHARS = "network ".length + MAX_NAME_CHARS;
const MAX_TIME_CHARS = 64;
/** `KIND/NAMESPACE/NAME +MORE`. */
const MAX_OWNER_CHARS = 512;

const time = () => z.iso.datetime().max(MAX_TIME_CHARS);

export const claimOwnerSchema = z
  .object({
    kind: z.enum(OWNER_KINDS).describe("Kind of the object: VirtualMachine, VirtualMachineInstance or Pod."),
    namespace: z.string().max(MAX_NAMESPACE_CHARS).describe("Namespace of the object."),
    name: z
      .string()
      .max(MAX_NAME_CHARS)
      .exactOptional()
      .describe("Name of the object. Absent where only generateName is known."),
    generateName: z
      .string()
      .max(MAX_NAME_CHARS)
      .exactOptional()
      .describe("Prefix from which the API server makes the name."),
    uid: z
      .string()
      .max(MAX_UID_CHARS)
      .exactOptional()
      .describe("UID of the object. Only if it existed before it became an owner."),
    interface: z.string().max(MAX_NAME_CHARS).describe("Interface that has the address."),
    network: z.string().max(MAX_NETWORK_CHARS).exactOptional().describe("Network of the interface."),
    domains: z
      .array(z.string().max(MAX_DOMAIN_CHARS))
      .max(MAX_CLAIM_DOMAINS)
      .exactOptional()
      .describe(
        "Layer-2 domains that the network led into when the object got the address, and those that it has moved from since. " +
          "Only where the pool's conflictScope is Network.",
      ),
    since: time().describe("When the object was given the address, or last asked for it."),
    receiver: z
      .boolean()
      .exactOptional()
      .describe(
        "The VM may have the address only to receive a live migration. It may not run beside another owner outside of it.",
      ),
    starting: time()
      .exactOptional()
      .describe(
        "The VM was admitted to start and counts as running until this time. Set only by the policy DenyRunning.",
      ),
  })
  .describe("An object that has this address.");

export type ClaimOwner = z.infer<typeof claimOwnerSchema>;

const macClaimSpecSchema = z
  .object({
    mac: canonicalMac,
    pool: z.string().max(253).exactOptional().describe("MACPool that the address belongs to."),
    origin: z
      .enum(CLAIM_ORIGINS)
      .describe(
        "automatic: chosen by the pool. explicit: written by the user. observed: found in an object that the pool does not manage.",
      ),
  })
  .describe("The address, and how it came into use.");

const macClaimStatusSchema = z
  .object({
    phase: z
      .enum(CLAIM_PHASES)
      .describe(
        "Allocated: the owners have the address, or were admitted with it. Quarantined: released, not given out yet. " +
          "Pending, Bound: written by version 0.1; they mean Allocated.",
      ),
    owner: z
      .string()
      .max(MAX_OWNER_CHARS)
      .exactOptional()
      .describe("First owner as kind/namespace/name, and the number of further owners."),
    owners: z
      .array(claimOwnerSchema)
      .max(MAX_CLAIM_OWNERS)
      .describe(
        "Objects that have the address. More than one only if the conflict policy allows it, or if they had it before.",
      ),
    deadline: time()
      .exactOptional()
      .describe(
        "Only version 0.1 writes and reads this time: until then its claims wait for an object that was admitted.",
      ),
    until: time()
      .exactOptional()
      .describe(
        "Quarantined: end of the quarantine. Allocated: until this time the request that got the address may be under " +
          "way; only version 0.1 reads that.",
      ),
  })
  .describe("Owners of the address.");

type MacClaimSpec = z.infer<typeof macClaimSpecSchema>;
export type MacClaimStatus = z.infer<typeof macClaimStatusSchema>;

export const macClaimSchema = z
  .object({ spec: macClaimSpecSchema, status: macClaimStatusSchema.exactOptional() })
  .meta({
    description: "A MAC address in use. While this object exists, no other object gets the address.",
    ...celRules({
      rule: "self.metadata.name == 'mac-' + self.spec.mac.replace(':', '-')",
      message: "the name of a MACClaim must be its address: mac-02-00-00-00-00-01 for 02:00:00:00:00:01",
      fieldPath: ".metadata.name",
    }),
  });

export type MACClaim = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: MacClaimSpec;
  readonly status?: MacClaimStatus;
};

/**
 * Each owner once. Version 0.1 wrote an entry for each creation under a name.
 */
export function distinctOwners(owners: readonly ClaimOwner[]): readonly ClaimOwner[] {
  if (owners.length < 2) return owners;
  return owners.filter((owner, index) => owners.findIndex((other) => isNamesake(owner, other)) === index);
}

interface Named {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name?: string | undefined;
}

/** Whether both have one kind, namespace and name; without a name an owner is like itself only. */
export function isNamesake(a: Named, b: Named): boolean {
  return a === b || (a.name !== undefined && a.name === b.name && a.kind === b.kind && a.namespace === b.namespace);
}

/** How an owner came to the address. The pool chose it for the first one; every other one names it itself. */
export function originFor({ spec, status }: MACClaim, owner: ClaimOwner): ClaimOrigin {
  const first = status?.owners[0];
  return spec.origin !== "automatic" || first === undefined || isNamesake(first, owner) ? spec.origin : "explicit";
}

/** Since when an address has a second owner, by the time of each owner; undefined where that is not known. */
export function sharedSince(owners: readonly { readonly since?: string }[]): string | undefined {
  const times = owners.map(({ since }) => since);
  return times.includes(undefined) ? undefined : times.sort()[1];
}

/** Value of status.owner: `VirtualMachine/default/web`, `... +1` with a second owner, `-` with none. */
export function describeOwners(owners: readonly ClaimOwner[]): string {
  const [first, ...others] = distinctOwners(owners);
  if (first === undefined) return "-";
  const name = first.name ?? `${first.generateName ?? ""}*`;
  return `${first.kind}/${first.namespace}/${name}${others.length > 0 ? ` +${others.length}` : ""}`;
}

/**
 * Annotation with which an administrator may write a claim by hand all the same: `"true"` on the object as it is (to
 * delete it) or as it shall be (to create or change it). Without it only the pool's own account may.
 */
export const CLAIM_BREAK_GLASS = `${MAC_POOL_GROUP}/break-glass`;
