import fc from "fast-check";
import { expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { HandlerSet } from "../../../src/kube/informer/handler-set.ts";
import {
  begin,
  type Effect,
  type Fault,
  type Input,
  initialState,
  type ListWay,
  step,
} from "../../../src/kube/informer/reflector.ts";
import { DEFAULT_RULES, type ReflectorRules } from "../../../src/kube/informer/reflector-rules.ts";
import { Store } from "../../../src/kube/informer/store.ts";
import { ObjectStore } from "../../support/object-store.ts";
import { share } from "../../support/share.ts";
import { describeObject, HandlerRecorder } from "../support/handler-recorder.ts";

const PAGE = 2;
const NAMESPACE = "default";
const PLURAL = RESOURCES.configMaps.plural;

/** What happens next: something on the server, or to what the informer has under way. */
type Action =
  | { readonly type: "write" | "delete" | "recreate"; readonly name: string }
  | { readonly type: "proceed" | "bookmark" | "end" | Fault["kind"] };

/** Reflector, store and a handler, with the object store as API server in place of the loop's I/O. */
class ModelRun {
  readonly #server = new ObjectStore();
  readonly store = new Store<ConfigMap>({ version: (object) => [object.metadata.resourceVersion ?? ""] });
  readonly recorder = new HandlerRecorder<ConfigMap>();
  readonly #handlers = new HandlerSet<ConfigMap>((error) => {
    throw error;
  });
  readonly #random: () => number;
  readonly #rules: ReflectorRules;
  #state = initialState<ConfigMap>();
  #effect: Effect;
  #watchedTo = 0;
  #listing: { readonly items: ConfigMap[]; version: number } | undefined;

  constructor(random: () => number, rules: Partial<ReflectorRules> = {}) {
    this.#random = random;
    this.#rules = { ...DEFAULT_RULES, absentIsEmpty: true, ...rules };
    this.#effect = begin(this.#state, this.#rules, random);
    this.#handlers.add(this.recorder, []);
  }

  act(action: Action): void {
    switch (action.type) {
      case "write":
        this.#write(action.name);
        return;
      case "delete":
        this.#delete(action.name);
        return;
      case "recreate":
        this.#delete(action.name);
        this.#write(action.name);
        return;
      case "proceed":
        this.proceed();
        return;
      case "bookmark":
        if (this.#effect.type === "watch" && this.#server.since(PLURAL, this.#watchedTo)?.length === 0) {
          this.#watchedTo = this.#version;
          this.#feed({ type: "bookmark", resourceVersion: this.#server.version });
        }
        return;
      case "end":
        if (this.#effect.type === "watch") {
          this.#feed({ type: "watch-ended", lastedMs: this.#random() * 10_000 });
        }
        return;
      case "gone":
        this.#server.compact();
        return;
      default:
        this.#fail({ kind: action.type });
    }
  }

  /** Whatever is under way goes well. False when there is nothing left to do. */
  proceed(): boolean {
    switch (this.#effect.type) {
      case "wait":
        this.#feed({ type: "waited" });
        return true;
      case "list":
        this.#list(this.#effect.way);
        return true;
      case "restored":
        throw new Error("its history never goes back");
      case "watch": {
        const changes = this.#server.since(PLURAL, this.#watchedTo);
        if (changes === undefined) {
          this.#fail({ kind: "gone" });
          return true;
        }
        const [change] = changes;
        if (change) {
          this.#watchedTo = change.version;
          const event = change.type === "DELETED" ? "remove" : "put";
          this.#feed({ type: "event", event, object: change.object as ConfigMap });
        }
        return change !== undefined;
      }
    }
  }

  /** Whether the watch has delivered all there is. */
  get caughtUp(): boolean {
    return this.#effect.type === "watch" && this.#watchedTo >= this.#version;
  }

  /** The store is the server's, by key and by index, and so is what the handler believes. */
  check(): void {
    const objects = this.#objects();
    const truth = objects.map(describeObject).sort();
    expect(this.store.list().map(describeObject).sort()).toEqual(truth);
    expect(this.recorder.believes).toEqual(truth);
    expect(this.recorder.contradictions).toEqual([]);
    for (const object of objects) {
      expect(this.store.byIndex("version", object.metadata.resourceVersion ?? "")).toEqual([object]);
    }
  }

  get #version(): number {
    return Number(this.#server.version);
  }

  #objects(): ConfigMap[] {
    return this.#server.list(PLURAL) as ConfigMap[];
  }

  /** Creates or changes an object. */
  #write(name: string): void {
    const object = { metadata: { namespace: NAMESPACE, name } };
    const exists = this.#server.get(PLURAL, `${NAMESPACE}/${name}`) !== undefined;
    this.#server[exists ? "update" : "create"](RESOURCES.configMaps, object);
  }

  #delete(name: string): void {
    const exists = this.#server.get(PLURAL, `${NAMESPACE}/${name}`) !== undefined;
    if (exists) this.#server.remove(RESOURCES.configMaps, { namespace: NAMESPACE, name });
  }

  #list(way: ListWay): void {
    this.#listing ??= { items: this.#objects(), version: this.#version };
    const { items, version } = this.#listing;
    if (this.#server.since(PLURAL, version) === undefined) {
      this.#fail({ kind: "gone" });
      return;
    }
    const page = items.splice(0, way === "pages" ? PAGE : items.length);
    const input = { type: "page" as const, items: page, resourceVersion: String(version) };
    if (items.length > 0) {
      this.#feed({ ...input, next: "token" });
    } else {
      this.#listing = undefined;
      this.#feed(input);
    }
  }

  #fail(fault: Fault): void {
    if (this.#effect.type === "list") {
      this.#listing = undefined;
      this.#feed({ type: "list-failed", fault });
    } else if (this.#effect.type === "watch") {
      this.#feed({ type: "watch-failed", fault, begun: this.#random() < 0.5, lastedMs: this.#random() * 10_000 });
    }
  }

  #feed(input: Input<ConfigMap>): void {
    const { state, writes, effect } = step(this.#state, input, this.#rules, this.#random);
    this.#state = state;
    for (const write of writes) {
      this.#handlers.distribute(
        write.type === "replace" ? this.store.replace(write.objects) : this.store[write.type](write.object),
      );
    }
    if (effect) {
      this.#effect = effect;
      this.#watchedTo = effect.type === "watch" ? Number(effect.resourceVersion) : this.#watchedTo;
    }
  }
}

/** 120 steps each; KUBE_MODEL_RUNS sets the number; KUBE_MODEL_SEED repeats what failed. */
const RUNS = Number(process.env.KUBE_MODEL_RUNS ?? share(1_000));
const SEED = Number(process.env.KUBE_MODEL_SEED ?? Date.now() % 2 ** 31);
const ACTIONS = 120;
const MAX_QUIET_STEPS = 1_000;

const names = fc.constantFrom("a", "b", "c", "d", "e");
const actions: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("write" as const), name: names }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom("delete" as const, "recreate" as const), name: names }) },
  { weight: 8, arbitrary: fc.constant({ type: "proceed" as const }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Action>(
      { type: "bookmark" },
      { type: "end" },
      { type: "broken" },
      { type: "gone" },
      { type: "absent" },
      { type: "refused" },
    ),
  },
);

test("after any sequence of writes and faults the store equals the server and no handler was told a contradiction", () => {
  let steps = 0;
  fc.assert(
    fc.property(
      fc.record({ wholeList: fc.boolean() }),
      fc.array(actions, { minLength: ACTIONS, maxLength: ACTIONS }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (rules, sequence, chance) => {
        const run = new ModelRun(() => chance.next().value as number, rules);
        for (const action of sequence) {
          run.act(action);
          if (run.caughtUp) {
            run.check();
          }
          steps++;
        }
        for (let quiet = 0; run.proceed(); quiet++) {
          expect(quiet, "steps until it is quiet").toBeLessThan(MAX_QUIET_STEPS);
        }
        expect(run.caughtUp).toBe(true);
        run.check();
      },
    ),
    { numRuns: RUNS, seed: SEED },
  );
  console.log(`informer model: ${steps} steps, seed ${SEED}`);
  expect(steps).toBeGreaterThanOrEqual(RUNS * ACTIONS);
}, 600_000);
