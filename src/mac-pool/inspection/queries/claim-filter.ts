import { nadOf } from "../../../api/claim-network.ts";
import { formatMac, macOfClaimName, parseMac } from "../../../api/mac.ts";
import {
  type ClaimOrigin,
  type ClaimOwner,
  type MACClaim,
  originFor,
  type ShownPhase,
} from "../../../api/mac-claim.ts";
import { DEFAULT_MAC_POOL } from "../../../api/names.ts";
import { statusOf } from "../../claims/claim.ts";
import type { Caches } from "../../cluster/caches.ts";
import { type Scope, sees } from "./scope.ts";

export interface ClaimFilter {
  /** An address in any notation, or a part of one in hex digits. */
  readonly mac?: string | undefined;
  /** `name`, `namespace/name` or `kind/namespace/name`. */
  readonly owner?: string | undefined;
  readonly namespace?: string | undefined;
  readonly phase?: ShownPhase | undefined;
  readonly origin?: ClaimOrigin | undefined;
  readonly pool?: string | undefined;
  /** A NetworkAttachmentDefinition that an owner has the address on, as namespace/name. */
  readonly network?: string | undefined;
  /** A pool: claims for addresses outside its ranges, as it counts them. */
  readonly outOfRange?: string | undefined;
  /** A part of the address, or of an owner's namespace/name. */
  readonly search?: string | undefined;
}

/** Whether one of some claims may match, by the text of all of them. Undefined where the filter says nothing of it. */
export function textTest({ search, mac, owner }: ClaimFilter): ((text: string) => boolean) | undefined {
  const digits = mac === undefined ? undefined : digitsOf(mac);
  if (digits !== undefined) return (text) => text.includes(digits);
  if (owner !== undefined) {
    const name = owner.slice(owner.lastIndexOf("/") + 1);
    return (text) => text.includes(name);
  }
  if (search === undefined) return undefined;
  const [words, hex] = [search.toLowerCase(), digitsOf(search)];
  return (text) => text.includes(words) || (hex !== undefined && text.includes(hex));
}

/** `phase`: where it is another one than now. */
export type ClaimTest = (claim: MACClaim, phase?: ShownPhase) => boolean;

/** Whether a claim matches. An owner that the reader may not see matches nothing. */
export function claimTest(filter: ClaimFilter, scope: Scope, caches: Pick<Caches, "index" | "phaseOf">): ClaimTest {
  const tests: ClaimTest[] = [];
  const { mac, owner, namespace, phase, origin, pool, network, outOfRange, search } = filter;
  const someOwner = (matches: (each: ClaimOwner) => boolean): ClaimTest => {
    const isMeant = (each: ClaimOwner): boolean => sees(scope, each) && matches(each);
    return (claim) => statusOf(claim).owners.some(isMeant);
  };
  if (phase !== undefined) tests.push((claim, asPhase = caches.phaseOf(claim)) => asPhase === phase);
  if (origin !== undefined) tests.push((claim) => seenOrigin(claim, scope) === origin);
  if (pool !== undefined) tests.push((claim) => claim.spec.pool === pool && isSeenWhole(claim, scope));
  if (outOfRange !== undefined)
    tests.push((claim) => isOutOfRange(claim, outOfRange, caches.index) && isSeenWhole(claim, scope));
  if (scope.namespace !== undefined) tests.push(someOwner(() => true));
  if (namespace !== undefined) tests.push(someOwner((each) => each.namespace === namespace));
  if (owner !== undefined) tests.push(someOwner(ownerTest(owner)));
  if (network !== undefined) tests.push(someOwner((each) => isOn(each, network)));
  if (mac !== undefined) tests.push(macTest(mac) ?? (() => false));
  if (search !== undefined) {
    const text = search.toLowerCase();
    const hasMac = macTest(search) ?? (() => false);
    const hasName = someOwner((each) => `${each.namespace}/${nameOf(each)}`.includes(text));
    tests.push((claim) => hasMac(claim) || hasName(claim));
  }
  const [only] = tests;
  return tests.length === 1 && only !== undefined
    ? only
    : (claim, asPhase) => tests.every((test) => test(claim, asPhase));
}

/** Whether the reader sees all owners. What a claim says of itself is of the first one. */
export function isSeenWhole(claim: MACClaim, scope: Scope): boolean {
  return statusOf(claim).owners.every((owner) => sees(scope, owner));
}

/** The origin of the claim, as of the first owner that the reader sees. */
export function seenOrigin(claim: MACClaim, scope: Scope): ClaimOrigin {
  const first = statusOf(claim).owners.find((owner) => sees(scope, owner));
  return first === undefined ? claim.spec.origin : originFor(claim, first);
}

/** Whether the claim is one that the pool counts as out of range. */
function isOutOfRange({ metadata, spec, status }: MACClaim, name: string, index: Caches["index"]): boolean {
  const { pool = DEFAULT_MAC_POOL } = spec;
  if (pool !== name || status?.phase === "Quarantined") return false;
  const mac = macOfClaimName(metadata.name ?? "");
  return mac !== undefined && index.pool(name)?.has(mac) === false;
}

/** Undefined where the text has no digit of an address, or something that no address has. */
function macTest(text: string): ClaimTest | undefined {
  const mac = parseMac(text);
  if (mac !== undefined) {
    const whole = formatMac(mac);
    return (claim) => claim.spec.mac === whole;
  }
  const digits = digitsOf(text);
  if (digits === undefined) return undefined;
  const [one, other] = [digits.replace(/..(?=.)/g, "$&:"), digits.replace(/(?<=^(?:..)*.)(?=.)/g, ":")];
  return (claim) => claim.spec.mac.includes(one) || claim.spec.mac.includes(other);
}

/** The hex digits of a part of an address, in any notation; undefined where it is none. */
function digitsOf(text: string): string | undefined {
  if (!/^[0-9a-f.:-]*$/i.test(text)) return undefined;
  return text.toLowerCase().replaceAll(/[^0-9a-f]/g, "") || undefined;
}

function isOn({ network, namespace }: ClaimOwner, wanted: string): boolean {
  const nad = nadOf(network, namespace);
  return nad !== undefined && `${nad.namespace}/${nad.name}` === wanted;
}

/** Neither a name nor a namespace has a slash. */
function ownerTest(wanted: string): (owner: ClaimOwner) => boolean {
  const [name, namespace, kind, ...more] = wanted.split("/").reverse();
  return (owner) =>
    nameOf(owner) === name &&
    (namespace === undefined || owner.namespace === namespace) &&
    (kind === undefined || owner.kind === kind) &&
    more.length === 0;
}

const nameOf = (owner: ClaimOwner): string => owner.name ?? owner.generateName ?? "";
