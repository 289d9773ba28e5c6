import { expect } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import type { Page } from "../../../src/kube/client/client.ts";
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
import { mergeShards } from "../../../src/kube/informer/sharded-list.ts";
import { Store } from "../../../src/kube/informer/store.ts";
import { ModelledServer } from "./modelled-server.ts";
import { describeObject, Story } from "./story.ts";

const PAGE = 2;
const SHARDS = 2;

/** What happens next: something on the server, or to what the informer has under way. */
export type Action =
  | { readonly type: "write" | "delete" | "recreate"; readonly name: string }
  | { readonly type: "proceed" | "bookmark" | "end" | Fault["kind"] };

/** Reflector, store and a handler, with the modelled server in place of the loop's I/O. */
export class ModelRun {
  readonly server = new ModelledServer();
  readonly store = new Store<ConfigMap>({ version: (object) => [object.metadata.resourceVersion ?? ""] });
  readonly story = new Story<ConfigMap>();
  readonly #handlers = new HandlerSet<ConfigMap>((error) => {
    throw error;
  });
  readonly #random: () => number;
  readonly #rules: ReflectorRules;
  #state = initialState<ConfigMap>();
  #effect: Effect;
  #watchedTo = 0;
  readonly #shards: Page<ConfigMap>[] = [];
  #listing: { readonly items: ConfigMap[]; version: number } | undefined;

  constructor(random: () => number, rules: Partial<ReflectorRules> = {}) {
    this.#random = random;
    this.#rules = { ...DEFAULT_RULES, absentIsEmpty: true, ...rules };
    this.#effect = begin(this.#state, this.#rules, random);
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
        if (this.#effect.type === "watch" || this.#effect.type === "stream") {
          this.#listing = undefined;
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
        this.#list(this.#effect.way);
        return true;
      case "stream":
        this.#stream();
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

  #list(way: ListWay): void {
    if (way === "shards") {
      this.#shard();
      return;
    }
    this.#listing ??= { items: this.server.objects, version: this.server.version };
    const { items, version } = this.#listing;
    if (version < this.server.compactedTo) {
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

  /** One shard a step, each at the version that is the latest then. Any change of an object may move it. */
  #shard(): void {
    const { objects, version } = this.server;
    const number = this.#shards.length;
    const items = objects.filter(({ metadata }) => Number(metadata.resourceVersion) % SHARDS === number);
    this.#shards.push({ items, resourceVersion: String(version) });
    if (this.#shards.length === SHARDS) {
      this.#feed({ type: "page", ...mergeShards(this.#shards.splice(0)) });
    }
  }

  /** Some objects as they were at the beginning, then some of what happened since, then the end of the initial events. */
  #stream(): void {
    this.#listing ??= { items: this.server.objects, version: this.server.version };
    const { items, version } = this.#listing;
    const entry = this.server.after(version);
    if (items.length > 0) {
      this.#feed({ type: "initial-objects", objects: items.splice(0, PAGE) });
    } else if (entry && this.#random() < 0.5) {
      this.#listing.version = entry.version;
      const { type, object } = entry;
      this.#feed(type === "put" ? { type: "initial-objects", objects: [object] } : { type: "initial-removal", object });
    } else {
      this.#listing = undefined;
      this.#feed({ type: "initial-end", resourceVersion: String(version) });
      this.#effect = { type: "watch", resourceVersion: String(version), timeoutSeconds: 1 };
      this.#watchedTo = version;
    }
  }

  #fail(fault: Fault): void {
    if (this.#effect.type === "list") {
      this.#listing = undefined;
      this.#shards.length = 0;
      this.#feed({ type: "list-failed", fault });
    } else if (this.#effect.type !== "wait") {
      this.#listing = undefined;
      this.#feed({ type: "watch-failed", fault, lastedMs: this.#random() * 10_000 });
    }
  }

  #feed(input: Input<ConfigMap>): void {
    const { state, writes, effect } = step(this.#state, input, this.#rules, this.#random);
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
