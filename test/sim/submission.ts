import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { AdmissionAnswer } from "../../src/kube/server/admission-server.ts";
import { requestMatters } from "../../src/mac-pool/objects/guest-changes.ts";
import { guestInterfaces, VM_TEMPLATE_SPEC } from "../../src/mac-pool/objects/guest-interfaces.ts";
import { appliedPatch } from "../support/applied-patch.ts";
import { keyOf } from "../support/object-store.ts";
import { type Party, type Place, type Provenance, Violation } from "./audit.ts";
import { checkGivenByHand, checkKept } from "./explicit-addresses.ts";
import { domainsHeld } from "./layer2.ts";
import { type HolderKind, isOptedOut, isReceiver, macsHeld, RESOURCE_OF } from "./objects.ts";
import { type Answer, admissionRequest, callWebhook } from "./webhook-call.ts";
import type { World } from "./world.ts";

/** What somebody asks the API server for. */
export interface Wanted {
  readonly kind: HolderKind;
  readonly namespace: string;
  readonly dryRun?: boolean;
  /** What comes after our webhook takes seconds. */
  readonly isSlow?: boolean;
  /** A creation, or the change of an object: undefined when there is nothing to change. */
  readonly build: (old: KubeObject | undefined) => KubeObject | undefined;
  /** Key of the object to change. */
  readonly update?: string;
  /** Told of the object as it was created. */
  readonly onCreated?: (object: KubeObject) => void;
}

/** The API server gives up on a request after this time. */
const REQUEST_MS = 60_000;
const WEBHOOK_TIMEOUT_MS = 10_000;
const MAX_RETRIES = 3;

/**
 * One request of a user on its way through the API server: our webhook, once or twice; whatever comes after it, which
 * may take its time or say no; the write. Nothing of it is remembered anywhere but in the objects.
 */
export class Submission {
  readonly #world: World;
  readonly #wanted: Wanted;
  readonly #startMs: number;
  readonly #restores: number;
  #retries = 0;

  constructor(world: World, wanted: Wanted) {
    this.#world = world;
    this.#wanted = wanted;
    this.#startMs = world.scheduler.nowMs;
    this.#restores = world.etcd.restores;
  }

  begin(): void {
    const { kind, update, build, namespace } = this.#wanted;
    const { etcd, network } = this.#world;
    if (!network.apiIsUp || etcd.absent.has(RESOURCE_OF[kind].plural)) return;
    const old = update === undefined ? undefined : etcd.get(RESOURCE_OF[kind].plural, update);
    if (update !== undefined && old === undefined) return;
    const object = build(old);
    if (object === undefined) return;
    if (!this.#world.tenancy.manages(kind, namespace) || (old !== undefined && !needsReview(old, object))) {
      this.#later(old, object, NOTHING);
      return;
    }
    this.#review(old, object, object, this.#world.random.chance(0.05) ? 2 : 1);
  }

  /** `asked`: as the user sent it; `object`: as it is sent to the webhook, which may have changed it before. */
  #review(old: KubeObject | undefined, asked: KubeObject, object: KubeObject, times: number): void {
    const { kind, dryRun = false } = this.#wanted;
    const request = admissionRequest(kind, object, old, dryRun);
    callWebhook(this.#world, request, WEBHOOK_TIMEOUT_MS, (answer) => {
      if (answer === undefined) return this.#fail();
      if (times === 1 || !answer.decision.answer.allowed) return this.#answered(old, asked, object, answer);
      const again = this.#world.random.chance(0.5) ? appliedPatch(object, answer.decision.answer.patch ?? []) : object;
      this.#review(old, asked, again, times - 1);
    });
  }

  #answered(old: KubeObject | undefined, asked: KubeObject, object: KubeObject, said: Answer): void {
    const world = this.#world;
    const { kind, namespace } = this.#wanted;
    const { decision, replica, calledMs } = said;
    // With etcd the API server began anew: nobody hears the answer.
    if (world.etcd.restores !== this.#restores) {
      this.#fail();
      return;
    }
    if (!decision.answer.allowed) {
      if (decision.refusal?.code === "MACPOOL_EXPLICIT_ADDRESS") checkKept(world, old, asked);
      world.refused(this.#wanted, object, decision.refusal, calledMs, replica);
      return;
    }
    const patched = appliedPatch(object, decision.answer.patch ?? []);
    if (this.#wanted.dryRun) return;
    const before = new Set(macsHeld(asked));
    const had = new Set(old === undefined ? [] : macsHeld(old));
    const moved = old === undefined ? [] : this.#moved(old, patched);
    const chosen = new Set(macsHeld(patched).filter((mac) => !before.has(mac) && !had.has(mac)));
    for (const mac of chosen) {
      if (world.tenancy.hasServed(namespace, mac)) continue;
      throw new Violation("served", `${mac} was chosen for namespace ${namespace}, which no pool that serves it has`);
    }
    world.allocations += chosen.size;
    const stopsWaiting = old !== undefined && isReceiver(old) && !isReceiver(patched);
    const keeps = old !== undefined && !isOptedOut(old) && !stopsWaiting;
    const known = new Set(keeps ? [...had].filter((mac) => !moved.includes(mac)) : []);
    const granted =
      isOptedOut(patched) && world.plan.mayOptOut ? [] : macsHeld(patched).filter((mac) => !known.has(mac));
    if (old === undefined && !isReceiver(patched) && world.plan.settled)
      this.#checkPolicies(patched, granted, calledMs);
    const sent = new Set(macsHeld(object));
    const chosenNow = new Set([...chosen].filter((mac) => !sent.has(mac)));
    this.#checkListed(object, granted, { chosen: chosenNow, excused: excusedIn(decision.answer, patched) }, said);
    this.#checkNodes(object, granted, chosenNow, said);
    checkGivenByHand(world, kind, object, { granted, chosen });
    this.#later(old, patched, {
      granted: new Map(granted.map((mac) => [mac, calledMs])),
      chosen,
      excused: stopsWaiting && world.plan.strict ? new Set() : excusedIn(decision.answer, patched),
      isGated: true,
      judgedAnew: stopsWaiting,
    });
  }

  /** Addresses that go to another network with this change, where the pool asks for that. */
  #moved(old: KubeObject, object: KubeObject): string[] {
    if (!this.#world.tenancy.isPerNetwork(this.#wanted.namespace)) return [];
    const before = domainsHeld(old);
    return [...domainsHeld(object)].flatMap(([mac, domain]) =>
      before.has(mac) && before.get(mac) !== domain ? [mac] : [],
    );
  }

  /** Where the object that is asked for holds an address. */
  #placeOf(object: KubeObject, mac: string): Place {
    const { kind, namespace } = this.#wanted;
    return { party: { kind, namespace, name: "" }, domain: domainsHeld(object).get(mac) };
  }

  /** No warning lets anybody in beside a holder whose own pool denies it. */
  #checkPolicies(object: KubeObject, granted: readonly string[], calledMs: number): void {
    const { auditor, tenancy } = this.#world;
    const { kind, namespace } = this.#wanted;
    for (const mac of granted) {
      const holder = auditor
        .holdersOf(mac)
        .find((each) => each.sinceMs < calledMs && each.granted.has(mac) && each.party.namespace !== namespace);
      if (holder === undefined || tenancy.policyIn(holder.party.namespace) !== "Deny") continue;
      if (auditor.isApart(this.#placeOf(object, mac), holder)) continue;
      throw new Violation(
        "policy",
        `${kind} in ${namespace} was let share ${mac} with ${holder.id}, whose pool denies it`,
      );
    }
  }

  /**
   * Nothing is given out, or admitted without a warning, that the replica knew another object to list. `chosen`: by this
   * replica, not by one that was called before it.
   */
  #checkListed(
    object: KubeObject,
    granted: readonly string[],
    { chosen, excused }: Pick<Given, "chosen" | "excused">,
    { replica, calledMs }: Answer,
  ): void {
    const { kind, namespace } = this.#wanted;
    const { name } = object.metadata;
    const { auditor, fullness, listings } = this.#world;
    for (const mac of granted) {
      if (excused.has(mac) && !chosen.has(mac)) continue;
      const asking = { kind, namespace, name };
      const isApart = (place: Place): boolean => auditor.isApart(this.#placeOf(object, mac), place) && !chosen.has(mac);
      const ids = listings.listedBefore(replica, mac, calledMs, asking, isApart);
      const owning = ids.filter((id) => !fullness.mayOnlyList(mac, id) && (chosen.has(mac) || !id.startsWith("Pod ")));
      const isGiven = ids.length === 0 || !chosen.has(mac) || fullness.isLastChoice(mac, chosen, calledMs, replica);
      if (owning.length === 0 && isGiven) continue;
      throw new Violation("listed", `${kind} ${namespace}/${name} was given ${mac}, which ${ids.join(" and ")} lists`);
    }
  }

  /**
   * No address that the replica knew a node to have is chosen, or given without a word to what can't have had it before: an
   * object without a name.
   */
  #checkNodes(
    object: KubeObject,
    granted: readonly string[],
    chosen: ReadonlySet<string>,
    { replica, calledMs, decision }: Answer,
  ): void {
    const { listings, plan } = this.#world;
    const isNew = object.metadata.name === undefined && !isReceiver(object);
    const told = (decision.answer.warnings ?? []).filter((text) => text.includes(OF_A_NODE));
    for (const mac of granted) {
      const node = listings.nodeBefore(replica, mac, calledMs);
      if (node === undefined) continue;
      const isTold = plan.hostAddressPolicy === "Off" || told.some((text) => text.includes(mac));
      if (!chosen.has(mac) && (isTold || !isNew)) continue;
      const how = chosen.has(mac) ? "chosen" : "given without a warning";
      throw new Violation(
        "nodes",
        `${mac} of ${node} was ${how} for ${this.#wanted.kind} in ${this.#wanted.namespace}`,
      );
    }
  }

  /** Later webhooks, validation and quota, then the write. */
  #later(old: KubeObject | undefined, object: KubeObject, given: Given): void {
    const { scheduler, random, chaos } = this.#world;
    const kind = this.#wanted.isSlow ? 0 : random.next();
    const delayMs = kind < 0.02 ? random.between(1_000, 55_000) : kind < 0.1 ? random.between(5, 3_000) : random.next();
    scheduler.after(delayMs, () => {
      if (scheduler.nowMs - this.#startMs > REQUEST_MS || random.chance(chaos ? 0.12 : 0.02)) return this.#fail();
      const { network, etcd } = this.#world;
      if (!network.apiIsUp || etcd.restores !== this.#restores) return this.#fail();
      if (etcd.absent.has(RESOURCE_OF[this.#wanted.kind].plural)) return this.#fail();
      this.#store(old, object, given);
    });
  }

  #store(old: KubeObject | undefined, object: KubeObject, given: Given): void {
    const { etcd, random, auditor } = this.#world;
    const { kind, namespace } = this.#wanted;
    const resource = RESOURCE_OF[kind];
    if (old !== undefined) {
      const current = etcd.get(resource.plural, keyOf(old.metadata));
      if (current?.metadata.resourceVersion !== old.metadata.resourceVersion) {
        if (current !== undefined && this.#retries++ < MAX_RETRIES) {
          this.begin();
          return;
        }
        this.#fail();
        return;
      }
      const before = auditor.provenanceOf(old);
      const kept = this.#world.tenancy.isPerNetwork(namespace) ? keptBy(old, object) : macsHeld(object);
      if (before !== undefined) auditor.register(kind, keyOf(old.metadata), merged(before, given, kept));
      etcd.update(resource, object);
      this.#world.stored(kind, object);
      return;
    }
    const { generateName, ...rest } = object.metadata;
    const name = object.metadata.name ?? `${generateName}${Math.floor(random.next() * 1e6).toString(36)}`;
    if (etcd.get(resource.plural, keyOf({ namespace, name })) !== undefined) {
      this.#fail();
      return;
    }
    const party: Party = { kind, namespace, name };
    auditor.register(kind, keyOf({ namespace, name }), { party, ...given });
    const created = etcd.create(resource, { ...object, metadata: { ...rest, name } });
    this.#world.stored(kind, object);
    this.#wanted.onCreated?.(created);
  }

  #fail(): void {
    this.#world.failedRequests += 1;
  }
}

/** In the warning about an address that a node has. */
const OF_A_NODE = " of node ";

type Given = Omit<Provenance, "party">;

const NOTHING: Given = { granted: new Map(), chosen: new Set(), excused: new Set(), isGated: false, judgedAnew: false };

/** The addresses that stay with an object, and in the domain where they were. */
function keptBy(old: KubeObject, object: KubeObject): string[] {
  const before = domainsHeld(old);
  return [...domainsHeld(object)].flatMap(([mac, domain]) => (before.get(mac) === domain ? [mac] : []));
}

/** What an object has after an update: what it keeps as it had it, unless that was judged anew, what is new as it was given. */
function merged(before: Provenance, given: Given, held: readonly string[]): Provenance {
  const kept = given.judgedAnew ? [] : [...before.granted].filter(([mac]) => held.includes(mac));
  return {
    ...before,
    granted: new Map([...kept, ...given.granted]),
    chosen: given.chosen,
    judgedAnew: given.judgedAnew,
    excused: new Set([
      ...[...before.excused].filter((mac) => !given.judgedAnew && held.includes(mac)),
      ...given.excused,
    ]),
  };
}

/** The match conditions of the webhook configuration, which only updates of VMs do not all meet. */
function needsReview(old: KubeObject, object: KubeObject): boolean {
  const [interfaces, before] = [object, old].map((each) => guestInterfaces(each, VM_TEMPLATE_SPEC));
  return requestMatters({ object, oldObject: old, interfaces: interfaces ?? [], before: before ?? [] });
}

/** The addresses that the answer warns about; all of a VM that waits to receive a migration. */
function excusedIn(answer: AdmissionAnswer, object: KubeObject): Set<string> {
  const aboutSharing = (answer.warnings ?? []).filter((text) => !text.includes(OF_A_NODE));
  const warned = aboutSharing.flatMap((text) => text.match(/([0-9a-f]{2}:){5}[0-9a-f]{2}/g) ?? []);
  return new Set(isReceiver(object) ? macsHeld(object) : warned);
}
