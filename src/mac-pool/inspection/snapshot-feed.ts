import type { WatchEventView } from "./envelopes.ts";
import { Feed, type FeedOptions, type Sink } from "./feed.ts";

/** How often a list is looked at while somebody watches it. */
const INTERVAL_MS = 1_000;

type Change = WatchEventView<unknown>;

/** What tells one item of a list from the others. */
export type KeyOf<T> = (item: T) => string;

/** Tells the changes of a list that is short and made anew for each look: by its differences. Looks only while it is watched. */
export class SnapshotFeed<T> {
  readonly #feed: Feed<Change>;
  readonly #list: () => readonly T[] | Promise<readonly T[]>;
  readonly #keyOf: KeyOf<T>;
  readonly #after: FeedOptions["after"];
  #known: ReadonlyMap<string, { readonly item: T; readonly text: string }> | undefined;
  #revision = 0;
  #isLooking = false;

  constructor(
    { boot, after }: Pick<FeedOptions, "boot" | "after">,
    list: () => readonly T[] | Promise<readonly T[]>,
    keyOf: KeyOf<T>,
  ) {
    this.#list = list;
    this.#keyOf = keyOf;
    this.#after = after;
    this.#feed = new Feed({ boot, after, revision: () => this.#revision });
  }

  get viewers(): number {
    return this.#feed.viewers;
  }

  /** Everybody sees the same here: who may see what is for the list. */
  watch(lastId: string | undefined, sink: Sink): () => void {
    const isKnown = this.#known !== undefined;
    const stop = this.#feed.watch(isKnown ? lastId : undefined, { key: "", eventOf: (change) => change }, sink);
    if (!this.#isLooking) {
      this.#isLooking = true;
      void this.#look();
    }
    return stop;
  }

  bookmark(): void {
    this.#feed.bookmark();
  }

  async #look(): Promise<void> {
    const items = await Promise.resolve(this.#list()).catch(() => undefined);
    if (items !== undefined) this.#compare(items);
    if (this.#feed.viewers > 0) this.#after(INTERVAL_MS, () => void this.#look());
    else {
      this.#isLooking = false;
      this.#known = undefined;
    }
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
