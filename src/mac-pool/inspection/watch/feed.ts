import type { WatchEventView } from "../rest/envelopes.ts";

/** Changes that are kept for those who come back: more than a replica sees in the seconds in which a connection is made anew. */
const MAX_KEPT = 4_096;
/** In parts, as `partsOf` counts; a part of a claim has 2 kB at most. Fewer large changes are kept than small ones. */
const MAX_PARTS = 16_384;
/** Changes are told together: many viewers of a busy pool cost one write each per interval. */
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

/**
 * What viewers with the same key are told of a change, empty where they do not see it. For those who are told at the same
 * time, and no longer: filters are as many as readers make up.
 */
type Texts = Map<Entry<unknown>, Map<string, string>>;

interface Viewer<T> {
  readonly sink: Sink;
  readonly look: Look<T>;
  /** Revision up to which it has been told. */
  at: number;
  /** Changes wait until it has all items. */
  isListing: boolean;
}

/** How viewers look at changes. */
export interface Look<T> {
  /** Viewers with the same key are told the same. */
  readonly key: string;
  /** The namespace that limits what they see. IDs of one scope are not for another. */
  readonly scope?: string | undefined;
  /** A change as they see it; undefined where they do not. */
  readonly eventOf: (change: T) => WatchEventView<unknown> | undefined;
  /** The items as they are now, in pieces, for those who want them before the changes. */
  readonly items?: (() => Iterable<readonly unknown[]>) | undefined;
  /** Replicas whose items are missing. */
  readonly partial?: () => readonly string[];
}

export interface FeedOptions {
  /** Tells this feed from those of other processes, and from other feeds: their IDs can't be resumed. */
  readonly boot: string;
  readonly revision: () => number;
  /** Calls back after a time. */
  readonly after: (ms: number, call: () => void) => void;
  readonly max?: number;
}

export interface Sized<T> {
  /** How large a change is, in parts. */
  readonly partsOf?: (change: T) => number;
}

/** What a viewer knows who has everything up to a revision; quoted, the ETag of a list. */
export function feedId(boot: string, revision: number, scope: string | undefined): string {
  return `${boot}-${revision}${scope === undefined ? "" : `.${scope}`}`;
}

const ID = /^(?:W\/)?"?([0-9a-z]+(?:\.\d+)?)-(\d{1,15})(?:\.([-0-9a-z]+))?"?$/;

/**
 * Server-sent events about one kind of thing. IDs are those of `feedId`. Who resumes is told what he has missed; when that is
 * not known any more he gets RESET, as does everybody who does not resume: then all items if he wants them, else he lists anew.
 */
export class Feed<T> {
  readonly #options: FeedOptions & Sized<T>;
  readonly #max: number;
  readonly #entries: Entry<T>[] = [];
  readonly #viewers = new Set<Viewer<T>>();
  /** Changes up to this revision are forgotten. */
  #forgotten: number;
  #isScheduled = false;
  #parts = 0;

  constructor(options: FeedOptions & Sized<T>) {
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
    while (this.#isFull()) this.#forgetFirst();
    if (this.#isScheduled || this.#viewers.size === 0) return;
    this.#isScheduled = true;
    this.#options.after(FLUSH_MS, () => {
      this.#isScheduled = false;
      this.#tellAll();
    });
  }

  #isFull(): boolean {
    return this.#entries.length > this.#max || (this.#parts > MAX_PARTS && this.#entries.length > 1);
  }

  /** Viewers are told of it before. */
  #forgetFirst(): void {
    const next = this.#entries[0]?.revision ?? 0;
    const isUntold = ({ isListing, at }: Viewer<T>): boolean => !isListing && at < next;
    if ([...this.#viewers].some(isUntold)) this.#tellAll();
    const first = this.#entries.shift();
    this.#parts -= first?.parts ?? 0;
    this.#forgotten = first?.revision ?? this.#forgotten;
  }

  /** Nobody resumes what happened so far. To be called after the revision has grown, while nobody watches. */
  forget(): void {
    this.#entries.length = 0;
    this.#parts = 0;
    this.#forgotten = this.#options.revision();
  }

  /** The returned function ends it. `lastId`: of the last event, or of the list, that the viewer knows. */
  watch(lastId: string | undefined, look: Look<T>, sink: Sink): () => void {
    const since = this.#revisionOf(lastId, look);
    const viewer = { sink, look, at: since ?? this.#options.revision(), isListing: false };
    this.#viewers.add(viewer);
    if (since !== undefined) {
      this.#write(viewer, eventText({ type: "BOOKMARK" }, this.#idAt(since, look)));
      this.#tell(viewer);
    } else if (look.items === undefined) {
      this.#write(viewer, eventText({ type: "RESET" }, this.#idAt(viewer.at, look)));
    } else {
      this.#list(viewer, look.items).catch(() => this.#drop(viewer));
    }
    return () => this.#viewers.delete(viewer);
  }

  /** Shows each viewer that the connection lives, and where it stands. */
  bookmark(): void {
    this.#tellAll();
    for (const viewer of [...this.#viewers]) {
      if (viewer.isListing) continue;
      this.#write(viewer, eventText({ type: "BOOKMARK" }, this.#idAt(this.#options.revision(), viewer.look)));
    }
  }

  /**
   * What changes while the items are told is told after them, so that it does not matter which of them are told as they were
   * before. Until the last item the ID is one that nobody resumes with: half a list is none.
   */
  async #list(viewer: Viewer<T>, items: () => Iterable<readonly unknown[]>): Promise<void> {
    const { sink, look } = viewer;
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
    const partial = look.partial?.() ?? [];
    const end = { type: "BOOKMARK", ...(partial.length === 0 ? {} : { partial }) } as const;
    this.#write(viewer, eventText(end, this.#idAt(viewer.at, look)));
    this.#tell(viewer);
  }

  #idAt(revision: number, { scope }: Look<T>): string {
    return feedId(this.#options.boot, revision, scope);
  }

  #revisionOf(id: string | undefined, look: Look<T>): number | undefined {
    const { boot, revision } = this.#options;
    const [, madeBy, text, scope] = ID.exec(id ?? "") ?? [];
    const since = Number(text);
    const isOwn = madeBy === boot && scope === look.scope;
    return isOwn && since >= this.#forgotten && since <= revision() ? since : undefined;
  }

  #tellAll(): void {
    const texts: Texts = new Map();
    for (const viewer of [...this.#viewers]) this.#tell(viewer, texts);
  }

  #tell(viewer: Viewer<T>, texts: Texts = new Map()): void {
    const last = this.#entries.at(-1);
    if (viewer.isListing || last === undefined || last.revision <= viewer.at) return;
    const first = this.#entries.findLastIndex(({ revision }) => revision <= viewer.at) + 1;
    let text = "";
    for (let at = first; at < this.#entries.length; at++) {
      text += this.#textOf(this.#entries[at] as Entry<T>, viewer.look, texts);
    }
    viewer.at = last.revision;
    if (text !== "") this.#write(viewer, text);
  }

  #textOf(entry: Entry<T>, look: Look<T>, texts: Texts): string {
    const ofEntry = texts.get(entry) ?? new Map<string, string>();
    const known = ofEntry.get(look.key);
    if (known !== undefined) return known;
    const { revision, change } = entry;
    const event = look.eventOf(change);
    const text = event === undefined ? "" : eventText(event, this.#idAt(revision, look));
    texts.set(entry, ofEntry.set(look.key, text));
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

/** JSON has no line break, so that an event is one line of data. */
function eventText(event: WatchEventView<unknown>, id: string): string {
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
