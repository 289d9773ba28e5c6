import { describe, expect, it } from "vitest";
import { Feed, feedId, type Subscription } from "../../../../src/mac-pool/inspection/watch/feed.ts";
import { settle } from "../../../kube/support/manual-clock.ts";
import { heldBytes } from "../../../support/held-bytes.ts";

const LOOK: Subscription<string> = { key: "all", eventOf: (object) => ({ type: "ADDED", object }) };

class Bed {
  revision = 0;
  readonly calls: (() => void)[] = [];
  readonly after = (_ms: number, call: () => void): void => {
    this.calls.push(call);
  };
  readonly feed: Feed<string>;

  constructor(max = 4, parts = 1) {
    const partsOf = (): number => parts;
    this.feed = new Feed<string>({ boot: "b0", revision: () => this.revision, after: this.after, max, partsOf });
  }

  add(change: string): void {
    this.revision += 1;
    this.feed.add(change);
  }

  flush(): void {
    for (const call of this.calls.splice(0)) call();
  }

  /** What a viewer is told, as `id type object`. */
  viewer(lastId?: string, look = LOOK) {
    const told: string[] = [];
    const drains: (() => void)[] = [];
    let [isSlow, isEnded] = [false, false];
    const sink = {
      write: (text: string): boolean => {
        for (const [, id, data] of text.matchAll(/id: (\S+)\ndata: (.*)\n\n/g)) {
          const { type, object } = JSON.parse(data ?? "");
          told.push([id, type, object].filter((part) => part !== undefined).join(" "));
        }
        return !isSlow;
      },
      drained: () => new Promise<void>((resolve) => drains.push(resolve)),
      end: () => {
        isEnded = true;
      },
    };
    const stop = this.feed.watch(lastId, look, sink);
    const drain = async (): Promise<void> => {
      drains.shift()?.();
      await settle();
    };
    return { told, stop, drain, slow: () => (isSlow = true), isEnded: () => isEnded };
  }
}

describe("a feed of changes", () => {
  it("tells a new viewer to list, and then what changes", () => {
    const bed = new Bed();
    bed.add("before");
    const { told } = bed.viewer();
    bed.add("one");
    bed.add("two");
    bed.flush();
    expect(told).toEqual(["b0-1 RESET", "b0-2 ADDED one", "b0-3 ADDED two"]);
  });

  it("tells a viewer who comes back what he has missed", () => {
    const bed = new Bed();
    for (const change of ["one", "two", "three"]) bed.add(change);
    expect(bed.viewer("b0-1").told).toEqual(["b0-1 BOOKMARK", "b0-2 ADDED two", "b0-3 ADDED three"]);
    expect(bed.viewer('"b0-3"').told).toEqual(["b0-3 BOOKMARK"]);
  });

  it("resets a viewer whose place is forgotten, from another process, or made up", () => {
    const bed = new Bed();
    for (let i = 1; i <= 10; i++) bed.add(String(i));
    for (const id of ["b0-5", "b1-9", "b0-11", "b0-x", "", "b0-99999999999999999999"]) {
      expect(bed.viewer(id).told).toEqual(["b0-10 RESET"]);
    }
    expect(bed.viewer("b0-6").told).toHaveLength(5);
  });

  it("drops a viewer who reads too slowly, and tells the others", () => {
    const bed = new Bed();
    const [slow, quick] = [bed.viewer(), bed.viewer()];
    slow.slow();
    bed.add("one");
    bed.flush();
    bed.add("two");
    bed.flush();
    expect(slow.isEnded()).toBe(true);
    expect(slow.told).toHaveLength(2);
    expect(quick.told).toEqual(["b0-0 RESET", "b0-1 ADDED one", "b0-2 ADDED two"]);
    expect(bed.feed.viewers).toBe(1);
  });

  it("makes an event once for all viewers who see the same", () => {
    const bed = new Bed();
    let made = 0;
    const look = {
      key: "same",
      eventOf: (object: string) => ({ type: "ADDED" as const, object: `${object}-${++made}` }),
    };
    const viewers = [bed.viewer(undefined, look), bed.viewer(undefined, look)];
    bed.add("one");
    bed.flush();
    expect(viewers.map(({ told }) => told.at(-1))).toEqual(["b0-1 ADDED one-1", "b0-1 ADDED one-1"]);
  });

  it("hides what a viewer does not see", () => {
    const bed = new Bed();
    const { told } = bed.viewer(undefined, { key: "none", eventOf: () => undefined });
    bed.add("one");
    bed.flush();
    expect(told).toEqual(["b0-0 RESET"]);
  });

  it("resumes by the ETag of a list, also one that a proxy weakened, and for one scope only", () => {
    const bed = new Bed();
    bed.add("one");
    bed.add("two");
    const mine = { ...LOOK, key: "mine", scope: "mine" };
    const tag = `"${feedId("b0", 1, "mine")}"`;
    for (const id of [tag, `W/${tag}`]) {
      expect(bed.viewer(id, mine).told).toEqual(["b0-1.mine BOOKMARK", "b0-2.mine ADDED two"]);
    }
    expect(bed.viewer(tag).told).toEqual(["b0-2 RESET"]);
    expect(bed.viewer("b0-1", mine).told).toEqual(["b0-2.mine RESET"]);
  });

  it("begins with all items for who wants them, and tells afterwards what has changed meanwhile", async () => {
    const bed = new Bed();
    bed.add("old");
    const pieces = [["a", "b"], ["c"]];
    const { told, drain } = bed.viewer(undefined, { ...LOOK, items: () => pieces, partial: () => ["gone"] });
    bed.add("meanwhile");
    bed.flush();
    bed.feed.bookmark();
    expect(told).toEqual(["b0-list RESET", "b0-list ADDED a", "b0-list ADDED b"]);
    await drain();
    await drain();
    expect(told.slice(3)).toEqual(["b0-list ADDED c", "b0-1 BOOKMARK", "b0-2 ADDED meanwhile"]);
    expect(bed.viewer("b0-list", LOOK).told).toEqual(["b0-2 RESET"]);
    const resumed = bed.viewer("b0-1", { ...LOOK, items: () => pieces });
    expect(resumed.told).toEqual(["b0-1 BOOKMARK", "b0-2 ADDED meanwhile"]);
  });

  it("begins anew when more has changed meanwhile than it remembers", async () => {
    const bed = new Bed();
    const { told, drain } = bed.viewer(undefined, { ...LOOK, items: () => [[`at ${bed.revision}`]] });
    for (let i = 1; i <= 10; i++) bed.add(String(i));
    await drain();
    expect(told).toEqual(["b0-list RESET", "b0-list ADDED at 0", "b0-list RESET", "b0-list ADDED at 10"]);
    await drain();
    expect(told.slice(4)).toEqual(["b0-10 BOOKMARK"]);
  });

  it("ends a viewer whose items can't be read", async () => {
    const bed = new Bed();
    const { isEnded } = bed.viewer(undefined, {
      ...LOOK,
      items: () => {
        throw new Error("no list");
      },
    });
    await settle();
    expect(isEnded()).toBe(true);
    expect(bed.feed.viewers).toBe(0);
  });

  it("tells a viewer of changes before it forgets them", () => {
    const bed = new Bed();
    const { told } = bed.viewer();
    for (let i = 1; i <= 10; i++) bed.add(String(i));
    bed.flush();
    expect(told.slice(1)).toEqual(Array.from({ length: 10 }, (_, i) => `b0-${i + 1} ADDED ${i + 1}`));
  });

  it("keeps no text for the filters of viewers", () => {
    const bed = new Bed(4_096);
    const sink = { write: () => true, drained: () => Promise.resolve(), end: () => {} };
    const before = heldBytes();
    const stops = Array.from({ length: 100 }, (_, at) => {
      const eventOf = (change: string) => ({ type: "ADDED", object: `${at} ${change}`.padEnd(800, "x") }) as const;
      return bed.feed.watch(undefined, { key: String(at), eventOf }, sink);
    });
    for (let i = 1; i <= 1_024; i++) {
      bed.add(String(i));
      if (i % 16 === 0) bed.flush();
    }
    for (const stop of stops) stop();
    expect(heldBytes() - before).toBeLessThan(2 * 1024 * 1024);
    expect(bed.viewer("b0-0").told).toHaveLength(1_025);
  });

  it("keeps fewer large changes than small ones", () => {
    const bed = new Bed(4_096, 4_096);
    for (let i = 1; i <= 10; i++) bed.add(String(i));
    expect(bed.viewer("b0-5").told).toEqual(["b0-10 RESET"]);
    expect(bed.viewer("b0-6").told).toHaveLength(5);
  });
});
