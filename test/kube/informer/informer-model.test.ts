import fc from "fast-check";
import { expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { HandlerSet } from "../../../src/kube/informer/handler-set.ts";
import {
  DEFAULT_RULES,
  type Effect,
  type Fault,
  type Input,
  initialState,
  LISTING,
  step,
} from "../../../src/kube/informer/reflector.ts";
import { Store } from "../../../src/kube/informer/store.ts";
import { ModelledServer } from "../support/modelled-server.ts";
import { describeObject, Story } from "../support/story.ts";

const RUNS = 1_000;
const ACTIONS = 120;
const PAGE = 2;
const MAX_QUIET_STEPS = 1_000;

/** What happens next: something on the server, or to what the informer has under way. */
type Action =
  | { readonly type: "write" | "delete" | "recreate"; readonly name: string }
  | { readonly type: "proceed" | "bookmark" | "end" | Fault["kind"] };

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

/** Reflector, store and a handler, with the modelled server in place of the loop's I/O. */
class Run {
  readonly server = new ModelledServer();
  readonly store = new Store<ConfigMap>({ version: (object) => [object.metadata.resourceVersion ?? ""] });
  readonly story = new Story<ConfigMap>();
  readonly #handlers = new HandlerSet<ConfigMap>((error) => {
    throw error;
  });
  readonly #random: () => number;
  #state = initialState<ConfigMap>();
  #effect: Effect = LISTING;
  #watchedTo = 0;
  #listing: { readonly items: ConfigMap[]; readonly version: number } | undefined;

  constructor(random: () => number) {
    this.#random = random;
    this.#handlers.add(this.story, []);
  }

  act(action: Action): void {
    switch (action.type) {
      case "write":
        this.server.write(action.name);
        return;
      case "delete":
        this.server.delete(action.name);
        return;
      case "recreate":
        this.server.delete(action.name);
        this.server.write(action.name);
        return;
      case "proceed":
        this.proceed();
        return;
      case "bookmark":
        if (this.#effect.type === "watch" && this.server.after(this.#watchedTo) === undefined) {
          this.#watchedTo = this.server.version;
          this.#feed({ type: "bookmark", resourceVersion: String(this.server.version) });
        }
        return;
      case "end":
        if (this.#effect.type === "watch") {
          this.#feed({ type: "watch-ended", lastedMs: this.#random() * 10_000 });
        }
        return;
      case "gone":
        this.server.compact();
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
        this.#page(this.#effect.paged);
        return true;
      case "watch": {
        if (this.#watchedTo < this.server.compactedTo) {
          this.#fail({ kind: "gone" });
          return true;
        }
        const entry = this.server.after(this.#watchedTo);
        if (entry) {
          this.#watchedTo = entry.version;
          this.#feed({ type: "event", event: entry.type, object: entry.object });
        }
        return entry !== undefined;
      }
    }
  }

  /** Whether the watch has delivered all there is. */
  get caughtUp(): boolean {
    return this.#effect.type === "watch" && this.#watchedTo >= this.server.version;
  }

  /** The store is the server's, by key and by index, and so is what the handler believes. */
  check(): void {
    const truth = this.server.objects.map(describeObject).sort();
    expect(this.store.list().map(describeObject).sort()).toEqual(truth);
    expect(this.story.believes).toEqual(truth);
    expect(this.story.contradictions).toEqual([]);
    for (const object of this.server.objects) {
      expect(this.store.byIndex("version", object.metadata.resourceVersion ?? "")).toEqual([object]);
    }
  }

  #page(paged: boolean): void {
    this.#listing ??= { items: this.server.objects, version: this.server.version };
    const { items, version } = this.#listing;
    if (version < this.server.compactedTo) {
      this.#fail({ kind: "gone" });
      return;
    }
    const page = items.splice(0, paged ? PAGE : items.length);
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
      this.#feed({ type: "watch-failed", fault, lastedMs: this.#random() * 10_000 });
    }
  }

  #feed(input: Input<ConfigMap>): void {
    const { state, writes, effect } = step(this.#state, input, { ...DEFAULT_RULES, absentIsEmpty: true }, this.#random);
    this.#state = state;
    for (const write of writes) {
      this.#handlers.tell(
        write.type === "replace" ? this.store.replace(write.objects) : this.store[write.type](write.object),
      );
    }
    if (effect) {
      this.#effect = effect;
      this.#watchedTo = effect.type === "watch" ? Number(effect.resourceVersion) : this.#watchedTo;
    }
  }
}

test("after any sequence of writes and faults the store equals the server and no handler was told a contradiction", () => {
  let steps = 0;
  fc.assert(
    fc.property(
      fc.array(actions, { minLength: ACTIONS, maxLength: ACTIONS }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (sequence, chance) => {
        const run = new Run(() => chance.next().value as number);
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
    { numRuns: RUNS },
  );
  expect(steps).toBeGreaterThanOrEqual(RUNS * ACTIONS);
}, 60_000);
