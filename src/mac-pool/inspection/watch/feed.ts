import type { WatchEventView } from "../rest/envelopes.ts";

/** Changes kept for viewers who resume: more than a replica sees while a connection is made anew. */
const MAX_KEPT = 4_096;
/** The size of all kept changes, in parts, as `partsOf` counts them. A part of a claim has 2 kB at most. */
const MAX_PARTS = 16_384;
/** Changes are sent together: a viewer of a busy pool costs one write an interval. */
const FLUSH_MS = 200;

export interface Sink {
  /** False when the viewer reads too slowly, or is gone. */
  write(text: string): boolean;
  /** Resolves when more can be written, or the viewer is gone. */
  drained(): Promise<void>;
  end(): void;
}

interface Entry<T> {
  readonly revision: number;
  readonly change: T;
  readonly parts: number;
}

/** The text of a change by the key of subscriptions; empty where the change is not seen. Kept for one round of sending only. */
type Texts = Map<Entry<unknown>, Map<string, string>>;

interface Viewer<T> {
  readonly sink: Sink;
  readonly subscription: Subscription<T>;
  /** Revision up to which changes were sent. */
  at: number;
  /** Changes wait until it has all items. */
  isListing: boolean;
}

/** What a viewer sees of the changes. */
export interface Subscription<T> {
  /** Viewers with the same key see the same. */
  readonly key: string;
  /** The namespace that limits what the viewer sees. An ID of one scope is not valid in another. */
  readonly scope?: string | undefined;
  /** A change as the viewer sees it; undefined where it is not seen. */
  readonly eventOf: (change: T) => WatchEventView<unknown> | undefined;
  /** The items as they are now, in pieces, for those who want them before the changes. */
  readonly items?: (() => Iterable<readonly unknown[]>) | undefined;
  /** Replicas whose items are missing. */
  readonly partial?: () => readonly string[];
}

export interface FeedOptions<T> {
  /** A name of this feed in this process only, so that IDs of other feeds and processes can't be resumed. */
  readonly boot: string;
  readonly revision: () => number;
  /** Calls back after a time. */
  readonly after: (ms: number, call: () => void) => void;
  readonly max?: number;
  /** How large a change is, in parts. */
  readonly partsOf?: (change: T) => number;
}

/** The ID of the state at a revision; quoted, the ETag of a list. */
export function feedId(boot: string, revision: number, scope: string | undefined): string {
  return `${boot}-${revision}${scope === undefined ? "" : `.${scope}`}`;
}

const ID = /^(?:W\/)?"?([0-9a-z]+(?:\.\d+)?)-(\d{1,15})(?:\.([-0-9a-z]+))?"?$/;

/**
 * Server-sent events about one kind of thing. IDs are those of `feedId`. A viewer who resumes is sent the changes since then. A
 * new viewer, and one whose changes are not kept any more, is sent RESET, and then all items where the subscription has them.
 */
export class Feed<T> {
  readonly #options: FeedOptions<T>;
  readonly #max: number;
  readonly #entries: Entry<T>[] = [];
  readonly #viewers = new Set<Viewer<T>>();
  /** Changes up to this revision are forgotten. */
  #forgotten: number;
  #isScheduled = false;
  #parts = 0;

  constructor(options: FeedOptions<T>) {
    this.#options = options;
    this.#max = options.max ?? MAX_KEPT;
    this.#forgotten = options.revision();
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** To be called after the revision has grown. */
  add(change: T): void {
    const parts = this.#options.partsOf?.(change) ?? 1;
    this.#entries.push({ revision: this.#options.revision(), change, parts });
    this.#parts += parts;
    while (this.#entries.length > this.#max || (this.#parts > MAX_PARTS && this.#entries.length > 1))
      this.#forgetFirst();
    if (this.#isScheduled || this.#viewers.size === 0) return;
    this.#isScheduled = true;
    this.#options.after(FLUSH_MS, () => {
      this.#isScheduled = false;
      this.#sendAll();
    });
  }

  /** It is sent before. */
  #forgetFirst(): void {
    const next = this.#entries[0]?.revision ?? 0;
    const isBehind = ({ isListing, at }: Viewer<T>): boolean => !isListing && at < next;
    if ([...this.#viewers].some(isBehind)) this.#sendAll();
    const first = this.#entries.shift();
    this.#parts -= first?.parts ?? 0;
    this.#forgotten = first?.revision ?? this.#forgotten;
  }

  /** Nobody can resume from before. To be called after the revision has grown, while nobody watches. */
  forget(): void {
    this.#entries.length = 0;
    this.#parts = 0;
    this.#forgotten = this.#options.revision();
  }

  /** The returned function ends it. `lastId`: of the last event, or of the list, that the viewer knows. */
  watch(lastId: string | undefined, subscription: Subscription<T>, sink: Sink): () => void {
    const since = this.#revisionOf(lastId, subscription);
    const viewer = { sink, subscription, at: since ?? this.#options.revision(), isListing: false };
    this.#viewers.add(viewer);
    if (since !== undefined) {
      this.#write(viewer, eventText({ type: "BOOKMARK" }, this.#idAt(since, subscription)));
      this.#send(viewer);
    } else if (subscription.items === undefined) {
      this.#write(viewer, eventText({ type: "RESET" }, this.#idAt(viewer.at, subscription)));
    } else {
      this.#list(viewer, subscription.items).catch(() => this.#drop(viewer));
    }
    return () => this.#viewers.delete(viewer);
  }

  /** Shows each viewer that the connection lives, and where it stands. */
  bookmark(): void {
    this.#sendAll();
    for (const viewer of [...this.#viewers]) {
      if (viewer.isListing) continue;
      this.#write(viewer, eventText({ type: "BOOKMARK" }, this.#idAt(this.#options.revision(), viewer.subscription)));
    }
  }

  /**
   * Changes during the list are sent after it, so an item may be sent as it was before its change. The events of the list have
   * an ID that can't be resumed: half a list is none.
   */
  async #list(viewer: Viewer<T>, items: () => Iterable<readonly unknown[]>): Promise<void> {
    const { sink, subscription } = viewer;
    const id = `${this.#options.boot}-list`;
    viewer.isListing = true;
    do {
      viewer.at = this.#options.revision();
      this.#write(viewer, eventText({ type: "RESET" }, id));
      for (const piece of items()) {
        this.#write(viewer, piece.map((object) => eventText({ type: "ADDED", object }, id)).join(""));
        await sink.drained();
        if (!this.#viewers.has(viewer)) return;
      }
    } while (this.#forgotten > viewer.at);
    viewer.isListing = false;
    const partial = subscription.partial?.() ?? [];
    const end = { type: "BOOKMARK", ...(partial.length === 0 ? {} : { partial }) } as const;
    this.#write(viewer, eventText(end, this.#idAt(viewer.at, subscription)));
    this.#send(viewer);
  }

  #idAt(revision: number, { scope }: Subscription<T>): string {
    return feedId(this.#options.boot, revision, scope);
  }

  #revisionOf(id: string | undefined, subscription: Subscription<T>): number | undefined {
    const { boot, revision } = this.#options;
    const [, madeBy, text, scope] = ID.exec(id ?? "") ?? [];
    const since = Number(text);
    const isOwn = madeBy === boot && scope === subscription.scope;
    return isOwn && since >= this.#forgotten && since <= revision() ? since : undefined;
  }

  #sendAll(): void {
    const texts: Texts = new Map();
    for (const viewer of [...this.#viewers]) this.#send(viewer, texts);
  }

  #send(viewer: Viewer<T>, texts: Texts = new Map()): void {
    const last = this.#entries.at(-1);
    if (viewer.isListing || last === undefined || last.revision <= viewer.at) return;
    const first = this.#entries.findLastIndex(({ revision }) => revision <= viewer.at) + 1;
    let text = "";
    for (let at = first; at < this.#entries.length; at++) {
      text += this.#textOf(this.#entries[at] as Entry<T>, viewer.subscription, texts);
    }
    viewer.at = last.revision;
    if (text !== "") this.#write(viewer, text);
  }

  #textOf(entry: Entry<T>, subscription: Subscription<T>, texts: Texts): string {
    const ofEntry = texts.get(entry) ?? new Map<string, string>();
    const known = ofEntry.get(subscription.key);
    if (known !== undefined) return known;
    const event = subscription.eventOf(entry.change);
    const text = event === undefined ? "" : eventText(event, this.#idAt(entry.revision, subscription));
    texts.set(entry, ofEntry.set(subscription.key, text));
    return text;
  }

  #write(viewer: Viewer<T>, text: string): void {
    if (!viewer.sink.write(text)) this.#drop(viewer);
  }

  #drop(viewer: Viewer<T>): void {
    this.#viewers.delete(viewer);
    viewer.sink.end();
  }
}

/** JSON has no line break, so an event is one line of data. */
function eventText(event: WatchEventView<unknown>, id: string): string {
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
