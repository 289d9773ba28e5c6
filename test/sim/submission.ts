import type { AdmissionAnswer } from "../../src/kube/admission/admission-server.ts";
import type { JsonPatchOp } from "../../src/kube/client/json-patch.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { nameOf, type Party, type Provenance, Violation } from "./audit.ts";
import { keyOf } from "./etcd.ts";
import { type HolderKind, isOptedOut, macsHeld, nicsOf, RESOURCE_OF } from "./objects.ts";
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
  #retries = 0;

  constructor(world: World, wanted: Wanted) {
    this.#world = world;
    this.#wanted = wanted;
    this.#startMs = world.scheduler.nowMs;
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
      const again = this.#world.random.chance(0.5) ? applyPatch(object, answer.decision.answer.patch ?? []) : object;
      this.#review(old, asked, again, times - 1);
    });
  }

  #answered(old: KubeObject | undefined, asked: KubeObject, object: KubeObject, said: Answer): void {
    const world = this.#world;
    const { namespace } = this.#wanted;
    const { decision, replica, calledMs } = said;
    if (!decision.answer.allowed) {
      world.refused(this.#wanted, object, decision.refusal, calledMs, replica);
      return;
    }
    const patched = applyPatch(object, decision.answer.patch ?? []);
    if (this.#wanted.dryRun) return;
    const before = new Set(macsHeld(asked));
    const had = new Set(old === undefined ? [] : macsHeld(old));
    const chosen = new Set(macsHeld(patched).filter((mac) => !before.has(mac) && !had.has(mac)));
    for (const mac of chosen) {
      if (world.tenancy.hasServed(namespace, mac)) continue;
      throw new Violation("served", `${mac} was chosen for namespace ${namespace}, which no pool that serves it has`);
    }
    world.allocations += chosen.size;
    const known = old !== undefined && !isOptedOut(old) ? had : new Set<string>();
    const granted = isOptedOut(patched) ? [] : macsHeld(patched).filter((mac) => !known.has(mac));
    this.#later(old, patched, {
      granted: new Map(granted.map((mac) => [mac, calledMs])),
      chosen,
      excused: excusedIn(decision.answer, patched),
      isGated: true,
    });
  }

  /** Later webhooks, validation and quota, then the write. */
  #later(old: KubeObject | undefined, object: KubeObject, given: Given): void {
    const { scheduler, random, chaos } = this.#world;
    const kind = this.#wanted.isSlow ? 0 : random.next();
    const delayMs = kind < 0.02 ? random.between(1_000, 55_000) : kind < 0.1 ? random.between(5, 3_000) : random.next();
    scheduler.after(delayMs, () => {
      if (scheduler.nowMs - this.#startMs > REQUEST_MS || random.chance(chaos ? 0.12 : 0.02)) return this.#fail();
      const { network, etcd } = this.#world;
      if (!network.apiIsUp || etcd.absent.has(RESOURCE_OF[this.#wanted.kind].plural)) return this.#fail();
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
      if (before !== undefined) auditor.register(kind, keyOf(old.metadata), merged(before, given, macsHeld(object)));
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
    if (isReceiver(object)) auditor.receivers.add(nameOf(party));
    auditor.register(kind, keyOf({ namespace, name }), { party, ...given });
    etcd.create(resource, { ...object, metadata: { ...rest, name } });
    this.#world.stored(kind, object);
  }

  #fail(): void {
    this.#world.failedRequests += 1;
  }
}

type Given = Omit<Provenance, "party">;

const NOTHING: Given = { granted: new Map(), chosen: new Set(), excused: new Set(), isGated: false };

/** What an object has after an update: what it keeps as it had it, what is new as it was given. */
function merged(before: Provenance, given: Given, held: readonly string[]): Provenance {
  const kept = [...before.granted].filter(([mac]) => held.includes(mac));
  return {
    ...before,
    granted: new Map([...kept, ...given.granted]),
    chosen: given.chosen,
    excused: new Set([...[...before.excused].filter((mac) => held.includes(mac)), ...given.excused]),
  };
}

/** The match conditions of the webhook configuration. */
function needsReview(old: KubeObject, object: KubeObject): boolean {
  const nics = nicsOf(object);
  return (
    JSON.stringify(nicsOf(old)) !== JSON.stringify(nics) ||
    isOptedOut(old) !== isOptedOut(object) ||
    nics.some(({ macAddress, state }) => macAddress === undefined && state !== "absent")
  );
}

/** The addresses that the answer warns about; all of a VM that waits to receive a migration. */
function excusedIn(answer: AdmissionAnswer, object: KubeObject): Set<string> {
  const warned = (answer.warnings ?? []).flatMap((text) => text.match(/([0-9a-f]{2}:){5}[0-9a-f]{2}/g) ?? []);
  return new Set(isReceiver(object) ? macsHeld(object) : warned);
}

const isReceiver = (object: KubeObject): boolean =>
  (object.spec as { runStrategy?: string }).runStrategy === "WaitAsReceiver";

/** JSON Patch as far as the pool uses it: adding or replacing a member that is an object's. */
function applyPatch(object: KubeObject, patch: readonly JsonPatchOp[]): KubeObject {
  if (patch.length === 0) return object;
  const copy = structuredClone(object);
  for (const { path, value } of patch) {
    const keys = path
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = keys.pop() ?? "";
    let target = copy as unknown as Record<string, unknown>;
    for (const key of keys) target = target[key] as Record<string, unknown>;
    target[last] = value;
  }
  return copy;
}
