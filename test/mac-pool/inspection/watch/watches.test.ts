import { describe, expect, it } from "vitest";
import type { Mac } from "../../../../src/api/mac.ts";
import { settle } from "../../../kube/support/manual-clock.ts";
import { claimOf, FIRST, owner, vmOf } from "../inspection-fixture.ts";
import { RestFixture } from "../rest/rest-fixture.ts";

const POOLS = { default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] } };
const NAMESPACES = { mine: {}, other: {} };
/** After it the rights of every watch were asked about anew. */
const RECHECKED_MS = 80_000;

const mac = (offset: number): Mac => (FIRST + offset) as Mac;
const shared = (offset: number) => claimOf(mac(offset), [owner("mine", "web"), owner("other", "secret")]);

describe("a watch", () => {
  it("ends when its reader may no longer see what he saw when it began", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS, namespaces: NAMESPACES });
    for (const reader of ["shrinks", "grows", "loses"]) fixture.rights.set(reader, "cluster");
    fixture.rights.set("grows", ["mine"]);
    fixture.rights.set("stays", "cluster");
    const path = "/api/v1/claims?watch=true&namespace=mine";
    using shrinking = fixture.watch(path, "shrinks");
    using growing = fixture.watch(path, "grows");
    using losing = fixture.watch(path, "loses");
    using staying = fixture.watch(path, "stays");
    const all = [shrinking, growing, losing, staying];
    await expect.poll(() => all.map(({ events }) => events.length)).toEqual([1, 1, 1, 1]);
    fixture.rights.set("shrinks", ["mine"]);
    fixture.rights.set("grows", "cluster");
    fixture.rights.delete("loses");
    await fixture.clock.advance(RECHECKED_MS);
    await expect.poll(() => all.map(({ hasEnded }) => hasEnded)).toEqual([true, true, true, false]);
    await fixture.inspection.objects.tell("ADDED", "macclaims", shared(1));
    await fixture.clock.advance(1_000);
    await expect.poll(() => JSON.stringify(staying.events)).toContain("secret");
    expect(JSON.stringify(shrinking.events)).not.toContain("secret");
  });

  it("of one phase sees a claim leave it when its object comes, and when it ends", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS, namespaces: NAMESPACES });
    fixture.rights.set("viewer", "cluster");
    using pending = fixture.watch("/api/v1/claims?watch=true&phase=Pending", "viewer");
    using bound = fixture.watch("/api/v1/claims?watch=true&phase=Bound", "viewer");
    using all = fixture.watch("/api/v1/claims?watch=true", "viewer");
    await expect.poll(() => [pending, bound, all].map(({ events }) => events.length)).toEqual([1, 1, 1]);
    const [comes, ends] = [1, 2].map((at) => claimOf(mac(at), [owner("mine", `vm-${at}`)]));
    const { objects } = fixture.inspection;
    if (comes === undefined || ends === undefined) throw new Error("there are two claims");
    await objects.tell("ADDED", "macclaims", comes);
    await objects.tell("ADDED", "virtualmachines", vmOf("mine", "vm-1", [mac(1)]));
    await objects.tell("ADDED", "macclaims", ends);
    await objects.tell("DELETED", "macclaims", ends);
    await fixture.clock.advance(1_000);
    const told = (watch: typeof all) =>
      watch.events.slice(1).map(({ type, object }) => `${type} ${object.mac.slice(-1)} ${object.phase}`);
    await expect
      .poll(() => told(all))
      .toEqual(["ADDED 1 Pending", "MODIFIED 1 Bound", "ADDED 2 Pending", "DELETED 2 Pending"]);
    const ofPending = ["ADDED 1 Pending", "DELETED 1 Pending", "ADDED 2 Pending", "DELETED 2 Pending"];
    await expect.poll(() => told(pending)).toEqual(ofPending);
    await expect.poll(() => told(bound)).toEqual(["ADDED 1 Bound"]);
  });

  it("of a short list resumes with an ID of its own feed only", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    fixture.rights.set("viewer", "cluster");
    const path = "/api/v1/pools?watch=true";
    const first = fixture.watch(path, "viewer");
    await expect.poll(() => first.events.length).toBe(1);
    using other = fixture.watch(path, "viewer", first.events[0]?.id);
    await expect.poll(() => other.events.map(({ type }) => type)).toEqual(["BOOKMARK"]);
    first[Symbol.dispose]();
    other[Symbol.dispose]();
    await expect.poll(async () => (await fixture.get("/api/v1/status", "viewer")).body.viewers).toBe(0);
    using again = fixture.watch(path, "viewer", first.events[0]?.id);
    await expect.poll(() => again.events.map(({ type }) => type)).toEqual(["RESET"]);
    const { headers } = await fixture.get("/api/v1/collisions", "viewer");
    using tagged = fixture.watch("/api/v1/collisions?watch=true", "viewer", String(headers.etag));
    await expect.poll(() => tagged.events.map(({ type }) => type)).toEqual(["RESET"]);
  });

  it("begins with all items when asked, in pieces", async () => {
    const claims = Array.from({ length: 1_201 }, (_, at) => claimOf(mac(at), [owner("mine", `vm-${at}`)]));
    await using fixture = await RestFixture.start({ pools: POOLS, namespaces: NAMESPACES, claims });
    fixture.rights.set("viewer", "cluster");
    fixture.rights.set("tenant", ["mine"]);
    for (const [reader, query] of [
      ["viewer", ""],
      ["tenant", "&namespace=mine"],
    ] as const) {
      using watch = fixture.watch(`/api/v1/claims?watch=true&sendInitialEvents=true${query}`, reader);
      await expect.poll(() => watch.events.at(-1)?.type).toBe("BOOKMARK");
      const [reset, ...items] = watch.events.slice(0, -1);
      expect(reset?.type).toBe("RESET");
      expect(items.map(({ object }) => object.mac)).toEqual(claims.map(({ spec }) => spec.mac));
      const id = watch.events.at(-1)?.id;
      using resumed = fixture.watch(`/api/v1/claims?watch=true&sendInitialEvents=true${query}`, reader, id);
      await expect.poll(() => resumed.events.map(({ type }) => type)).toEqual(["BOOKMARK"]);
    }
    using pools = fixture.watch("/api/v1/pools?watch=true&sendInitialEvents=true", "viewer");
    await expect.poll(() => pools.events.map(({ type }) => type)).toEqual(["RESET", "ADDED", "BOOKMARK"]);
  });

  it("that was cut in the middle of its list begins with all items again", async () => {
    const claims = Array.from({ length: 1_201 }, (_, at) => claimOf(mac(at), [owner("mine", `vm-${at}`)]));
    await using fixture = await RestFixture.start({ pools: POOLS, namespaces: NAMESPACES, claims });
    fixture.rights.set("viewer", "cluster");
    const path = "/api/v1/claims?watch=true&sendInitialEvents=true";
    const cut = fixture.watch(path, "viewer");
    await expect.poll(() => cut.events.length).toBeGreaterThan(0);
    cut[Symbol.dispose]();
    await expect.poll(async () => (await fixture.get("/api/v1/status", "viewer")).body.viewers).toBe(0);
    using again = fixture.watch(path, "viewer", cut.events[0]?.id);
    await expect.poll(() => again.events.at(-1)?.type).toBe("BOOKMARK");
    expect(again.events.map(({ type }) => type)).toEqual(["RESET", ...claims.map(() => "ADDED"), "BOOKMARK"]);
  });

  it("is refused with a time to wait while its reader has too many, and answered when one has ended", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    fixture.rights.set("viewer", "cluster");
    const path = "/api/v1/pools?watch=true";
    const open = Array.from({ length: 100 }, () => fixture.watch(path, "viewer"));
    await expect.poll(() => open.filter(({ events }) => events.length > 0)).toHaveLength(100);
    const { status, headers, body } = await fixture.get(path, "viewer");
    expect([status, headers["retry-after"], body.code]).toEqual([429, "1", "MACPOOL_TOO_MANY_VIEWERS"]);
    open.pop()?.[Symbol.dispose]();
    await expect.poll(async () => (await fixture.get("/api/v1/status", "viewer")).body.viewers).toBe(99);
    using next = fixture.watch(path, "viewer");
    await expect.poll(() => next.events.map(({ type }) => type)).toEqual(["RESET"]);
    for (const watch of open) watch[Symbol.dispose]();
  });

  it("stays a watch of its feed when one that was dropped for slowness closes late", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    const { feeds } = fixture.inspection.inspector;
    const sink = (reads: boolean) => {
      const told: string[] = [];
      return { told, write: (text: string) => told.push(text) > 0 && reads, drained: async () => {}, end: () => {} };
    };
    const stopSlow = [sink(false), sink(false)].map((slow) => feeds.pools({ lastId: undefined }, slow));
    await settle();
    stopSlow[0]?.();
    const viewer = sink(true);
    feeds.pools({ lastId: undefined }, viewer);
    await settle();
    stopSlow[1]?.();
    feeds.bookmark();
    expect(viewer.told.map((text) => /"type":"(\w+)"/.exec(text)?.[1])).toEqual(["RESET", "BOOKMARK"]);
  });
});
