import type { ListView, WatchEventView } from "../rest/envelopes.ts";
import { Feed, type FeedOptions, type Sink } from "./feed.ts";

/** Whoever comes back later lists anew: the list is short, and there are as many feeds as filters. */
const MAX_KEPT = 64;
/** How often a list is looked at while somebody watches it. */
const INTERVAL_MS = 1_000;

type Change = WatchEventView<unknown>;

/** What tells one item of a list from the others. */
export type KeyOf<T> = (item: T) => string;

type Snapshot<T> = Pick<ListView<T>, "items" | "partial">;

/**
 * Tells the changes of a list that is short and made anew for each look: by its differences. Looks only while it is watched. Who
 * comes first waits for the first look, so that nothing is missed between what he lists and the first difference.
 */
export class SnapshotFeed<T> {
  readonly #feed: Feed<Change>;
  readonly #list: () => Snapshot<T> | Promise<Snapshot<T>>;
  readonly #keyOf: KeyOf<T>;
  readonly #after: FeedOptions["after"];
  readonly #waiting = new Set<() => void>();
  #known: ReadonlyMap<string, { readonly item: T; readonly text: string }> | undefined;
  #partial: readonly string[] = [];
  #revision = 0;
  #isLooking = false;

  /** `boot`: of this feed alone. */
  constructor(
    { boot, after }: Pick<FeedOptions, "boot" | "after">,
    list: () => Snapshot<T> | Promise<Snapshot<T>>,
    keyOf: KeyOf<T>,
  ) {
    this.#list = list;
    this.#keyOf = keyOf;
    this.#after = after;
    this.#feed = new Feed({ boot, after, revision: () => this.#revision, max: MAX_KEPT });
  }

  get viewers(): number {
    return this.#feed.viewers + this.#waiting.size;
  }

  /** Everybody sees the same here: who may see what is for the list. */
  watch(lastId: string | undefined, sendInitialEvents: boolean, sink: Sink): () => void {
    const items = (): readonly T[][] => [[...(this.#known?.values() ?? [])].map(({ item }) => item)];
    const look = {
      key: "",
      eventOf: (change: Change): Change => change,
      partial: () => this.#partial,
      items: sendInitialEvents ? items : undefined,
    };
    let stop = (): void => {};
    const join = (): void => {
      stop = this.#feed.watch(lastId, look, sink);
    };
    if (this.#known === undefined) this.#waiting.add(join);
    else join();
    if (!this.#isLooking) {
      this.#isLooking = true;
      void this.#look();
    }
    return () => {
      this.#waiting.delete(join);
      stop();
    };
  }

  bookmark(): void {
    this.#feed.bookmark();
  }

  async #look(): Promise<void> {
    const snapshot = await this.#listed();
    if (snapshot !== undefined) this.#take(snapshot);
    if (this.viewers > 0) this.#after(INTERVAL_MS, () => void this.#look());
    else this.#rest();
  }

  /** Undefined where the list can't be had now. */
  async #listed(): Promise<Snapshot<T> | undefined> {
    try {
      return await this.#list();
    } catch {
      return undefined;
    }
  }

  #take({ items, partial = [] }: Snapshot<T>): void {
    this.#compare(items);
    this.#partial = partial;
    for (const join of this.#waiting) join();
    this.#waiting.clear();
  }

  /** What changes from now on is not seen: nobody resumes over this time. */
  #rest(): void {
    this.#isLooking = false;
    this.#known = undefined;
    this.#revision += 1;
    this.#feed.forget();
  }

  #compare(items: readonly T[]): void {
    const now = new Map(items.map((item) => [this.#keyOf(item), { item, text: JSON.stringify(item) }]));
    const before = this.#known;
    this.#known = now;
    if (before === undefined) return;
    for (const [key, { item, text }] of now) {
      const old = before.get(key);
      if (old?.text !== text) this.#add({ type: old === undefined ? "ADDED" : "MODIFIED", object: item });
    }
    for (const [key, { item }] of before) if (!now.has(key)) this.#add({ type: "DELETED", object: item });
  }

  #add(change: Change): void {
    this.#revision += 1;
    this.#feed.add(change);
  }
}
