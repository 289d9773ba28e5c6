import type { ListView, WatchEventView } from "../rest/envelopes.ts";
import { Feed, type FeedOptions, type Sink } from "./feed.ts";

/** A viewer who misses more lists anew: the list is short, and there are as many feeds as filters. */
const MAX_KEPT = 64;
/** How often a list that somebody watches is made. */
const INTERVAL_MS = 1_000;

type Change = WatchEventView<unknown>;

/** Distinguishes the items of a list. */
export type KeyOf<T> = (item: T) => string;

type Snapshot<T> = Pick<ListView<T>, "items" | "partial">;

/**
 * Sends the changes of a short list that is made anew for each check: the differences from one list to the next. The list is
 * made only while somebody watches. The first viewer waits for the first list, so no change is missed before it.
 */
export class SnapshotFeed<T> {
  readonly #feed: Feed<Change>;
  readonly #list: () => Snapshot<T> | Promise<Snapshot<T>>;
  readonly #keyOf: KeyOf<T>;
  readonly #after: FeedOptions<Change>["after"];
  readonly #waiting = new Set<() => void>();
  #known: ReadonlyMap<string, { readonly item: T; readonly text: string }> | undefined;
  #partial: readonly string[] = [];
  #revision = 0;
  #isChecking = false;

  /** `boot`: of this feed alone. */
  constructor(
    { boot, after }: Pick<FeedOptions<Change>, "boot" | "after">,
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

  /** All viewers of one feed see the same: the list has what they may see. */
  watch(lastId: string | undefined, sendInitialEvents: boolean, sink: Sink): () => void {
    const items = (): readonly T[][] => [[...(this.#known?.values() ?? [])].map(({ item }) => item)];
    const subscription = {
      key: "",
      eventOf: (change: Change): Change => change,
      partial: () => this.#partial,
      items: sendInitialEvents ? items : undefined,
    };
    let stop = (): void => {};
    const join = (): void => {
      stop = this.#feed.watch(lastId, subscription, sink);
    };
    if (this.#known === undefined) this.#waiting.add(join);
    else join();
    if (!this.#isChecking) void this.#check();
    return () => {
      this.#waiting.delete(join);
      stop();
    };
  }

  bookmark(): void {
    this.#feed.bookmark();
  }

  async #check(): Promise<void> {
    this.#isChecking = true;
    try {
      const { items, partial = [] } = await this.#list();
      this.#compare(items);
      this.#partial = partial;
      for (const join of this.#waiting) join();
      this.#waiting.clear();
    } catch {
      // The list can't be made now: the next check tries again.
    }
    if (this.viewers > 0) {
      this.#after(INTERVAL_MS, () => void this.#check());
      return;
    }
    // Changes from now on are not seen, so nobody can resume over this time.
    this.#isChecking = false;
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
