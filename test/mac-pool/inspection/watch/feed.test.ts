import { describe, expect, it } from "vitest";
import { Feed, feedId, type Subscription } from "../../../../src/mac-pool/inspection/watch/feed.ts";
import { settle } from "../../../kube/support/manual-clock.ts";
import { heldBytes } from "../../../support/held-bytes.ts";

const LOOK: Subscription<string> = { key: "all", eventOf: (object) => ({ type: "ADDED", object }) };

class Fixture {
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
    const fixture = new Fixture();
    fixture.add("before");
    const { told } = fixture.viewer();
    fixture.add("one");
    fixture.add("two");
    fixture.flush();
    expect(told).toEqual(["b0-1 RESET", "b0-2 ADDED one", "b0-3 ADDED two"]);
  });

  it("tells a viewer who comes back what he has missed", () => {
    const fixture = new Fixture();
    for (const change of ["one", "two", "three"]) fixture.add(change);
    expect(fixture.viewer("b0-1").told).toEqual(["b0-1 BOOKMARK", "b0-2 ADDED two", "b0-3 ADDED three"]);
    expect(fixture.viewer('"b0-3"').told).toEqual(["b0-3 BOOKMARK"]);
  });

  it("resets a viewer whose place is forgotten, from another process, or made up", () => {
    const fixture = new Fixture();
    for (let i = 1; i <= 10; i++) fixture.add(String(i));
    for (const id of ["b0-5", "b1-9", "b0-11", "b0-x", "", "b0-99999999999999999999"]) {
      expect(fixture.viewer(id).told).toEqual(["b0-10 RESET"]);
    }
    expect(fixture.viewer("b0-6").told).toHaveLength(5);
  });

  it("drops a viewer who reads too slowly, and tells the others", () => {
    const fixture = new Fixture();
    const [slow, quick] = [fixture.viewer(), fixture.viewer()];
    slow.slow();
    fixture.add("one");
    fixture.flush();
    fixture.add("two");
    fixture.flush();
    expect(slow.isEnded()).toBe(true);
    expect(slow.told).toHaveLength(2);
    expect(quick.told).toEqual(["b0-0 RESET", "b0-1 ADDED one", "b0-2 ADDED two"]);
    expect(fixture.feed.viewers).toBe(1);
  });

  it("makes an event once for all viewers who see the same", () => {
    const fixture = new Fixture();
    let made = 0;
    const look = {
      key: "same",
      eventOf: (object: string) => ({ type: "ADDED" as const, object: `${object}-${++made}` }),
    };
    const viewers = [fixture.viewer(undefined, look), fixture.viewer(undefined, look)];
    fixture.add("one");
    fixture.flush();
    expect(viewers.map(({ told }) => told.at(-1))).toEqual(["b0-1 ADDED one-1", "b0-1 ADDED one-1"]);
  });

  it("hides what a viewer does not see", () => {
    const fixture = new Fixture();
    const { told } = fixture.viewer(undefined, { key: "none", eventOf: () => undefined });
    fixture.add("one");
    fixture.flush();
    expect(told).toEqual(["b0-0 RESET"]);
  });

  it("resumes by the ETag of a list, also one that a proxy weakened, and for one scope only", () => {
    const fixture = new Fixture();
    fixture.add("one");
    fixture.add("two");
    const mine = { ...LOOK, key: "mine", scope: "mine" };
    const tag = `"${feedId("b0", 1, "mine")}"`;
    for (const id of [tag, `W/${tag}`]) {
      expect(fixture.viewer(id, mine).told).toEqual(["b0-1.mine BOOKMARK", "b0-2.mine ADDED two"]);
    }
    expect(fixture.viewer(tag).told).toEqual(["b0-2 RESET"]);
    expect(fixture.viewer("b0-1", mine).told).toEqual(["b0-2.mine RESET"]);
  });

  it("begins with all items for who wants them, and tells afterwards what has changed meanwhile", async () => {
    const fixture = new Fixture();
    fixture.add("old");
    const pieces = [["a", "b"], ["c"]];
    const { told, drain } = fixture.viewer(undefined, { ...LOOK, items: () => pieces, partial: () => ["gone"] });
    fixture.add("meanwhile");
    fixture.flush();
    fixture.feed.bookmark();
    expect(told).toEqual(["b0-list RESET", "b0-list ADDED a", "b0-list ADDED b"]);
    await drain();
    await drain();
    expect(told.slice(3)).toEqual(["b0-list ADDED c", "b0-1 BOOKMARK", "b0-2 ADDED meanwhile"]);
    expect(fixture.viewer("b0-list", LOOK).told).toEqual(["b0-2 RESET"]);
    const resumed = fixture.viewer("b0-1", { ...LOOK, items: () => pieces });
    expect(resumed.told).toEqual(["b0-1 BOOKMARK", "b0-2 ADDED meanwhile"]);
  });

  it("begins anew when more has changed meanwhile than it remembers", async () => {
    const fixture = new Fixture();
    const { told, drain } = fixture.viewer(undefined, { ...LOOK, items: () => [[`at ${fixture.revision}`]] });
    for (let i = 1; i <= 10; i++) fixture.add(String(i));
    await drain();
    expect(told).toEqual(["b0-list RESET", "b0-list ADDED at 0", "b0-list RESET", "b0-list ADDED at 10"]);
    await drain();
    expect(told.slice(4)).toEqual(["b0-10 BOOKMARK"]);
  });

  it("ends a viewer whose items can't be read", async () => {
    const fixture = new Fixture();
    const { isEnded } = fixture.viewer(undefined, {
      ...LOOK,
      items: () => {
        throw new Error("no list");
      },
    });
    await settle();
    expect(isEnded()).toBe(true);
    expect(fixture.feed.viewers).toBe(0);
  });

  it("tells a viewer of changes before it forgets them", () => {
    const fixture = new Fixture();
    const { told } = fixture.viewer();
    for (let i = 1; i <= 10; i++) fixture.add(String(i));
    fixture.flush();
    expect(told.slice(1)).toEqual(Array.from({ length: 10 }, (_, i) => `b0-${i + 1} ADDED ${i + 1}`));
  });

  it("keeps no text for the filters of viewers", () => {
    const fixture = new Fixture(4_096);
    const sink = { write: () => true, drained: () => Promise.resolve(), end: () => {} };
    const before = heldBytes();
    const stops = Array.from({ length: 100 }, (_, at) => {
      const eventOf = (change: string) => ({ type: "ADDED", object: `${at} ${change}`.padEnd(800, "x") }) as const;
      return fixture.feed.watch(undefined, { key: String(at), eventOf }, sink);
    });
    for (let i = 1; i <= 1_024; i++) {
      fixture.add(String(i));
      if (i % 16 === 0) fixture.flush();
    }
    for (const stop of stops) stop();
    expect(heldBytes() - before).toBeLessThan(2 * 1024 * 1024);
    expect(fixture.viewer("b0-0").told).toHaveLength(1_025);
  });

  it("keeps fewer large changes than small ones", () => {
    const fixture = new Fixture(4_096, 4_096);
    for (let i = 1; i <= 10; i++) fixture.add(String(i));
    expect(fixture.viewer("b0-5").told).toEqual(["b0-10 RESET"]);
    expect(fixture.viewer("b0-6").told).toHaveLength(5);
  });
});
