import { formatMac, parseMac } from "../../src/api/mac.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../src/kube/admission/admission-server.ts";
import type { JsonPatchOp } from "../../src/kube/client/json-patch.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { Decision } from "../../src/mac-pool/webhooks/decision.ts";
import type { Party, Provenance } from "./audit.ts";
import { keyOf } from "./etcd.ts";
import { type HolderKind, macsHeld, nicsOf, RESOURCE_OF } from "./objects.ts";
import type { SimReplica } from "./sim-replica.ts";
import type { World } from "./world.ts";

/** What somebody asks the API server for. */
export interface Wanted {
  readonly kind: HolderKind;
  readonly namespace: string;
  readonly dryRun?: boolean;
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
    if (!network.apiIsUp) return;
    const old = update === undefined ? undefined : etcd.get(RESOURCE_OF[kind].plural, update);
    if (update !== undefined && old === undefined) return;
    const object = build(old);
    if (object === undefined) return;
    if (!this.#world.isManaged(namespace)) {
      this.#later(old, object, NOT_CALLED);
      return;
    }
    if (old !== undefined && !needsReview(old, object)) {
      this.#later(old, object, NOT_CALLED);
      return;
    }
    this.#review(old, object, this.#world.random.chance(0.04) ? 2 : 1);
  }

  #review(old: KubeObject | undefined, object: KubeObject, times: number): void {
    const { scheduler, random, endpoints } = this.#world;
    const ready = endpoints();
    if (ready.length === 0) {
      this.#fail();
      return;
    }
    const replica = random.pick(ready);
    const calledMs = scheduler.nowMs;
    let isOver = false;
    const once = (run: () => void): void => {
      if (isOver) return;
      isOver = true;
      run();
    };
    scheduler.after(WEBHOOK_TIMEOUT_MS, () => once(() => this.#fail()));
    scheduler.after(random.between(0.2, 3), () => {
      if (!replica.host.isAlive) return once(() => this.#fail());
      replica.review(this.#requestFor(old, object), (decision) =>
        scheduler.after(random.between(0.2, 3), () =>
          once(() => {
            if (times > 1) this.#review(old, object, times - 1);
            else this.#answered(old, object, decision, calledMs, replica);
          }),
        ),
      );
    });
  }

  #requestFor(old: KubeObject | undefined, object: KubeObject): AdmissionRequest {
    const { kind, namespace, dryRun } = this.#wanted;
    const { group, version, plural } = RESOURCE_OF[kind];
    return {
      uid: "request",
      kind: { group, version, kind },
      resource: { group, version, resource: plural },
      operation: old === undefined ? "CREATE" : "UPDATE",
      name: object.metadata.name ?? "",
      namespace,
      object,
      oldObject: old ?? null,
      dryRun: dryRun ?? false,
      userInfo: {},
    };
  }

  #answered(
    old: KubeObject | undefined,
    object: KubeObject,
    { answer, refusal }: Decision,
    calledMs: number,
    replica: SimReplica,
  ): void {
    const world = this.#world;
    if (!answer.allowed) {
      world.refused(this.#wanted, object, refusal, calledMs, replica);
      return;
    }
    const patched = applyPatch(object, answer.patch ?? []);
    if (this.#wanted.dryRun) return;
    const before = new Set(macsHeld(object));
    const chosen = new Map(macsHeld(patched).flatMap((mac) => (before.has(mac) ? [] : [[mac, calledMs]])));
    world.allocations += chosen.size;
    this.#later(old, patched, { chosen, excused: excusedIn(answer, patched) });
  }

  /** Later webhooks, validation and quota, then the write. */
  #later(old: KubeObject | undefined, object: KubeObject, given: Pick<Provenance, "chosen" | "excused">): void {
    const { scheduler, random, chaos } = this.#world;
    const kind = random.next();
    const delayMs = kind < 0.02 ? random.between(1_000, 55_000) : kind < 0.1 ? random.between(5, 3_000) : random.next();
    scheduler.after(delayMs, () => {
      if (scheduler.nowMs - this.#startMs > REQUEST_MS || random.chance(chaos ? 0.12 : 0.02)) return this.#fail();
      if (!this.#world.network.apiIsUp) return this.#fail();
      this.#store(old, object, given);
    });
  }

  #store(old: KubeObject | undefined, object: KubeObject, given: Pick<Provenance, "chosen" | "excused">): void {
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
      const excused = new Set([...(before?.excused ?? []), ...given.excused]);
      if (before !== undefined) auditor.register(kind, keyOf(old.metadata), { ...before, ...given, excused });
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
    auditor.register(kind, keyOf({ namespace, name }), { party, managed: this.#world.isManaged(namespace), ...given });
    etcd.create(resource, { ...object, metadata: { ...rest, name } });
    this.#world.stored(kind, object);
  }

  #fail(): void {
    this.#world.failedRequests += 1;
  }
}

const NOT_CALLED: Pick<Provenance, "chosen" | "excused"> = { chosen: new Map(), excused: new Set() };

/** The match conditions of the webhook configuration. */
function needsReview(old: KubeObject, object: KubeObject): boolean {
  const nics = nicsOf(object);
  return (
    JSON.stringify(nicsOf(old)) !== JSON.stringify(nics) || nics.some(({ macAddress }) => macAddress === undefined)
  );
}

/** The addresses that the answer warns about; all of a VM that waits to receive a migration. */
function excusedIn(answer: AdmissionAnswer, object: KubeObject): Set<string> {
  const receiver = (object.spec as { runStrategy?: string }).runStrategy === "WaitAsReceiver";
  const warned = (answer.warnings ?? []).flatMap((text) => text.match(/([0-9a-f]{2}:){5}[0-9a-f]{2}/g) ?? []);
  return new Set(receiver ? macsHeld(object) : warned);
}

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

export const macText = (number: number): string => {
  const mac = parseMac(number.toString(16).padStart(12, "0"));
  if (mac === undefined) throw new Error(`no address: ${number}`);
  return formatMac(mac);
};
