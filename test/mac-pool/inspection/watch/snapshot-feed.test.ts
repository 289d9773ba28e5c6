import { describe, expect, it } from "vitest";
import { SnapshotFeed } from "../../../../src/mac-pool/inspection/watch/snapshot-feed.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";

interface Item {
  readonly name: string;
  readonly value: number;
}

/** Longer than the pause between two looks and the time in which changes are gathered. */
const LOOKED_MS = 1_500;

class Fixture {
  readonly clock = new ManualClock();
  list: () => { readonly items: readonly Item[]; readonly partial?: readonly string[] } | Promise<never>;
  readonly feed: SnapshotFeed<Item>;

  constructor(items: readonly Item[]) {
    this.list = () => ({ items });
    const after = (ms: number, call: () => void): void => void this.clock.after(ms, call);
    this.feed = new SnapshotFeed(
      { boot: "b0.1", after },
      () => this.list(),
      ({ name }) => name,
    );
  }

  async look(items: readonly Item[]): Promise<void> {
    this.list = () => ({ items });
    await this.clock.advance(LOOKED_MS);
  }

  /** What a viewer is told, as `id type name=value`. */
  viewer(lastId?: string, sendInitialEvents = false) {
    const told: string[] = [];
    const write = (text: string): boolean => {
      for (const [, id, data] of text.matchAll(/id: (\S+)\ndata: (.*)\n\n/g)) {
        const { type, object, partial } = JSON.parse(data ?? "");
        const shown = object === undefined ? partial : `${object.name}=${object.value}`;
        told.push([id, type, shown].filter((part) => part !== undefined).join(" "));
      }
      return true;
    };
    const stop = this.feed.watch(lastId, sendInitialEvents, { write, drained: async () => {}, end: () => {} });
    return { told, stop };
  }
}

describe("a feed of a short list", () => {
  it("tells its differences while somebody watches", async () => {
    const fixture = new Fixture([{ name: "a", value: 1 }]);
    const { told, stop } = fixture.viewer();
    await fixture.look([{ name: "a", value: 1 }]);
    await fixture.look([
      { name: "a", value: 2 },
      { name: "b", value: 1 },
    ]);
    await fixture.look([{ name: "b", value: 1 }]);
    expect(told).toEqual(["b0.1-0 RESET", "b0.1-1 MODIFIED a=2", "b0.1-2 ADDED b=1", "b0.1-3 DELETED a=2"]);
    stop();
    expect(fixture.feed.viewers).toBe(0);
  });

  it("begins with the items of the look that the next one is compared with", async () => {
    const fixture = new Fixture([]);
    fixture.list = () => ({ items: [{ name: "a", value: 1 }], partial: ["gone"] });
    const { told } = fixture.viewer(undefined, true);
    await fixture.look([{ name: "a", value: 2 }]);
    await fixture.look([{ name: "a", value: 2 }]);
    expect(told).toEqual(["b0.1-list RESET", "b0.1-list ADDED a=1", "b0.1-0 BOOKMARK gone", "b0.1-1 MODIFIED a=2"]);
    const late = fixture.viewer(undefined, true);
    await fixture.clock.advance(1);
    expect(late.told).toEqual(["b0.1-list RESET", "b0.1-list ADDED a=2", "b0.1-1 BOOKMARK"]);
  });

  it("lets the first viewer list only when it has looked itself", async () => {
    const fixture = new Fixture([]);
    fixture.list = () => Promise.reject(new Error("not now"));
    const { told, stop } = fixture.viewer();
    await fixture.clock.advance(LOOKED_MS);
    expect(told).toEqual([]);
    expect(fixture.feed.viewers).toBe(1);
    await fixture.look([{ name: "a", value: 1 }]);
    expect(told).toEqual(["b0.1-0 RESET"]);
    stop();
  });

  it("resets who resumes over a time in which nobody looked", async () => {
    const fixture = new Fixture([]);
    const first = fixture.viewer();
    await fixture.look([{ name: "a", value: 1 }]);
    await fixture.look([{ name: "a", value: 1 }]);
    expect(first.told.at(-1)).toBe("b0.1-1 ADDED a=1");
    first.stop();
    await fixture.look([{ name: "a", value: 2 }]);
    const second = fixture.viewer();
    await fixture.look([{ name: "a", value: 3 }]);
    const resumed = fixture.viewer("b0.1-1");
    expect(resumed.told).toEqual([expect.stringMatching(/ RESET$/)]);
    second.stop();
  });

  it("goes on when the list throws", async () => {
    const fixture = new Fixture([{ name: "a", value: 1 }]);
    const { told } = fixture.viewer();
    await fixture.look([{ name: "a", value: 1 }]);
    fixture.list = () => {
      throw new Error("not now");
    };
    await fixture.clock.advance(LOOKED_MS);
    await fixture.look([]);
    expect(told.at(-1)).toBe("b0.1-1 DELETED a=1");
  });
});
