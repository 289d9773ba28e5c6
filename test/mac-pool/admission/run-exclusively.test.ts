import { describe, expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner } from "../../../src/api/mac-claim.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { RunExclusively } from "../../../src/mac-pool/admission/run-exclusively.ts";
import { StartTimes } from "../../../src/mac-pool/admission/start-times.ts";
import { newClaim, withStatus } from "../../../src/mac-pool/claims/claim.ts";
import type { ObjectReference, ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";
import type { Networks } from "../../../src/mac-pool/cluster/network-domains.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { NO_NETWORKS } from "../no-networks.ts";

const { signal } = new AbortController();
const mac = parseMac("0200000000aa") as Mac;
const vm = (name: string): ObjectReference => ({
  kind: "VirtualMachine",
  namespace: "default",
  name,
  uid: `uid-${name}`,
});
const owner = (name: string): ClaimOwner => ({
  ...(vm(name) as ClaimOwner),
  interface: "a",
  since: "2026-01-01T00:00:00Z",
});

const HOUR_MS = 3_600_000;
const startingMs = (): number => 75_000;
const isReceiver = async ({ name = "" }: ObjectReference): Promise<boolean> => name.startsWith("waiting");
const objectsListing = (): readonly ObservedOwner[] => [];

async function gate(
  names: readonly string[],
  running: readonly string[] = [],
  more: readonly ClaimOwner[] = [],
  isRunning = async ({ name = "" }: ObjectReference): Promise<boolean> => running.includes(name),
  networks = NO_NETWORKS,
  isAwaited = false,
) {
  const store = new MemoryClaimStore();
  const owners = [...names.map(owner), ...more];
  const claim = newClaim(mac, { pool: "default", origin: "explicit" }, { phase: "Allocated", owners });
  await store.create(claim);
  let nowMs = 0;
  const cached = new Map<string, readonly ClaimOwner[]>();
  const allTimes: StartTimes[] = [];
  /** What the watches of all replicas tell. */
  const follow = (): void => {
    for (const [name, { status }] of store.claims) {
      const before = cached.get(name);
      cached.set(name, status?.owners ?? []);
      for (const times of allTimes) times.see(name, status?.owners, before);
    }
  };
  const failing = (): Promise<boolean> => Promise.reject(new Error("socket hang up"));
  /** A replica whose wall clock is ahead by so many hours. */
  const gateOf = (hours: number, asks: typeof isRunning): RunExclusively => {
    const clock = { ...systemClock, monotonicMs: () => nowMs, now: () => nowMs + hours * HOUR_MS };
    const times = new StartTimes({ clock, startingMs, ownersOf: (claim) => cached.get(claim) ?? [] });
    allTimes.push(times);
    return new RunExclusively({
      store,
      isRunning: asks,
      isReceiver,
      objectsListing,
      isManaged: ({ namespace }) => namespace !== "strangers",
      networks,
      times,
      clock,
      startingMs,
      isAwaited: () => isAwaited,
    });
  };
  // They share nothing but the claims.
  const gates = [gateOf(0, isRunning), gateOf(1, isRunning), gateOf(2, failing)];
  const start = async (name: string, dryRun = false, replica = 0, network?: string) => {
    const refusal = await gates[replica]?.refusal(
      {
        ref: vm(name),
        interfaces: [{ mac, name: "a", network }],
        dryRun,
        waits: name.startsWith("waiting"),
      },
      "start",
      signal,
    );
    follow();
    return refusal;
  };
  const join = async (...others: readonly ClaimOwner[]): Promise<void> => {
    const read = await store.read(mac);
    if (read?.status === undefined) throw new Error("there is no claim");
    await store.update(withStatus(read, { ...read.status, owners: [...read.status.owners, ...others] }));
  };
  return { store, start, join, pass: (ms: number) => (nowMs += ms) };
}

describe("a VM that starts under the policy DenyRunning", () => {
  it("may where nobody else has its address, and comes before those who share it later", async () => {
    const { start, join } = await gate(["web"]);
    expect(await start("web")).toBeUndefined();
    await join(owner("twin"));
    expect(await start("twin")).toMatchObject({ code: "MACPOOL_RUNNING" });
    expect(await start("web")).toBeUndefined();
  });

  it("comes before those who share its address later also where nobody has claimed that yet", async () => {
    const { store, start, join } = await gate(["web"]);
    const claim = await store.read(mac);
    if (claim !== undefined) await store.remove(claim);
    expect(await start("web")).toBeUndefined();
    await join(owner("twin"));
    expect(await start("twin", false, 1)).toMatchObject({ code: "MACPOOL_RUNNING" });
  });

  it("comes before the others also while the claim knows it by the prefix of its name only", async () => {
    const { name: _name, uid: _uid, ...unnamed } = owner("x");
    const { start, store } = await gate(["twin"], [], [{ ...unnamed, generateName: "web-" }]);
    expect(await start("web-1")).toBeUndefined();
    expect(await start("twin", false, 1)).toMatchObject({ code: "MACPOOL_RUNNING" });
    expect(await start("web-2", false, 1)).toMatchObject({ code: "MACPOOL_RUNNING" });
    expect(await start("web-1", false, 1)).toBeUndefined();
    const owners = (await store.read(mac))?.status?.owners.map(({ name, generateName }) => name ?? generateName);
    expect(owners).toEqual(["twin", "web-", "web-1"]);
  });

  it("may not while another holder runs, and is told who and what to do", async () => {
    const { start } = await gate(["web", "twin"], ["twin"]);
    expect(await start("web")).toMatchObject({
      code: "MACPOOL_RUNNING",
      message:
        "VirtualMachine default/web can't start: VirtualMachine default/twin has the same MAC 02:00:00:00:00:aa and is " +
        "running. Stop it first, or give one of them another address.",
    });
    expect(await start("twin")).toBeUndefined();
  });

  it("is told until when it has to wait for a start that was admitted, whether that is over or still under way", async () => {
    const { start } = await gate(["web", "twin"]);
    await start("twin");
    expect(await start("web")).toMatchObject({
      code: "MACPOOL_RUNNING",
      message:
        "VirtualMachine default/web can't start: VirtualMachine default/twin has the same MAC 02:00:00:00:00:aa and is " +
        "starting; it counts as running until 1970-01-01T00:01:15.000Z. Try again then, or give one of them another address.",
    });
  });

  it("does not take a failing read for a leave to start where another start was admitted", async () => {
    const { start } = await gate(["web", "twin"]);
    await start("twin");
    expect(await start("web", false, 2)).toMatchObject({ message: expect.stringContaining("is starting") });
  });

  it("is the only one of many that start at the same moment, whichever replica they ask", async () => {
    const names = ["a", "b", "c", "d"];
    const { start } = await gate(names);
    const refusals = await Promise.all(names.map((name, index) => start(name, false, index % 2)));
    expect(refusals.filter((refusal) => refusal === undefined)).toHaveLength(1);
  });

  it("blocks others no longer than a request can live when it never came to be", async () => {
    const { start, pass } = await gate(["web", "twin"]);
    expect(await start("web")).toBeUndefined();
    expect(await start("twin")).toMatchObject({ code: "MACPOOL_RUNNING" });
    pass(startingMs());
    expect(await start("twin")).toBeUndefined();
  });

  it("may not beside a pod or an instance that is being created: those run as soon as they are there", async () => {
    const { name: _name, uid: _uid, ...unnamed } = { ...owner("x"), kind: "Pod" } as const;
    for (const coming of [
      { ...unnamed, generateName: "batch-" },
      { ...unnamed, kind: "VirtualMachineInstance", name: "alone" } as const,
    ]) {
      const { start } = await gate(["web"], [], [coming], undefined, undefined, true);
      expect(await start("web")).toMatchObject({
        code: "MACPOOL_RUNNING",
        message: expect.stringContaining("is being created. Delete it first"),
      });
      expect(await (await gate(["web"], [], [coming])).start("web")).toBeUndefined();
    }
    const { start } = await gate(["web"], [], [owner("stopped")], undefined, undefined, true);
    expect(await start("web")).toBeUndefined();
  });

  it("may beside a pod that the pool does not manage, whether that runs or is being created", async () => {
    const pod = { ...owner("stranger"), kind: "Pod" } as const;
    const strangers = { ...pod, namespace: "strangers" } as const;
    expect(await (await gate(["web"], ["stranger"], [pod])).start("web")).toMatchObject({ code: "MACPOOL_RUNNING" });
    for (const isAwaited of [false, true]) {
      const { start } = await gate(["web"], ["stranger"], [strangers], undefined, undefined, isAwaited);
      expect(await start("web")).toBeUndefined();
    }
  });

  it("may while it waits to receive a migration, and not once it waits no longer, if the owner runs", async () => {
    const receiver = (name: string): ClaimOwner => ({ ...owner(name), receiver: true });
    const waiting = await gate(["web"], ["web"], [receiver("waiting")]);
    expect(await waiting.start("waiting")).toBeUndefined();
    const received = await gate(["web"], ["web"], [receiver("received")]);
    expect(await received.start("received")).toMatchObject({ code: "MACPOOL_RUNNING" });
    // Who says that it waits, and was not admitted for that, is not let in by it.
    const pretender = await gate(["web", "waiting"], ["web"]);
    expect(await pretender.start("waiting")).toMatchObject({ code: "MACPOOL_RUNNING" });
  });

  it("waits for the slowest answer about the other owners, and not for one after the other", async () => {
    const names = ["a", "b", "c", "d"];
    const all = Promise.withResolvers<void>();
    let asked = 0;
    const { start } = await gate(["web", ...names], [], [], async () => {
      asked += 1;
      if (asked === names.length) all.resolve();
      await all.promise;
      return false;
    });
    expect(await start("web")).toBeUndefined();
    expect(asked).toBe(names.length);
  });

  it("is refused where one owner is known to run, even if the answer about another fails", async () => {
    const { start } = await gate(["web", "lost", "running"], [], [], async ({ name = "" }) => {
      if (name === "lost") throw new Error("socket hang up");
      return name === "running";
    });
    expect(await start("web")).toMatchObject({ code: "MACPOOL_RUNNING" });
  });

  it("may beside a runner that it can't meet, and says where it is", async () => {
    const networks: Networks = {
      scopeIn: () => "Network",
      domainOf: async (network) => network,
      of: async () => (owner) => owner.domains,
    };
    const [web, twin] = ["web", "twin"].map((name) => ({ ...owner(name), domains: [`bridge ${name}`] }));
    if (web === undefined || twin === undefined) throw new Error("no owners");
    const { start, store } = await gate([], ["web"], [web, twin], undefined, networks);
    for (const network of ["bridge web", undefined])
      expect(await start("twin", false, 0, network)).toMatchObject({ code: "MACPOOL_RUNNING" });
    expect(await start("twin", false, 0, "bridge other")).toBeUndefined();
    expect((await store.read(mac))?.status?.owners).toMatchObject([
      { domains: ["bridge web"] },
      { domains: ["bridge twin", "bridge other"] },
    ]);
  });

  it("leaves no trace of a dry run", async () => {
    const { start } = await gate(["web", "twin"]);
    expect(await start("web", true)).toBeUndefined();
    expect(await start("twin")).toBeUndefined();
    expect(await start("web", true)).toMatchObject({ code: "MACPOOL_RUNNING" });
  });
});
