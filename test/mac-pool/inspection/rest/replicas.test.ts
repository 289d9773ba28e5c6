import { describe, expect, it } from "vitest";
import type { KubeClient } from "../../../../src/kube/client/client.ts";
import { silentLog } from "../../../../src/kube/log.ts";
import { leaderBy, Replicas } from "../../../../src/mac-pool/inspection/rest/replicas.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";
import { heldBytes } from "../../../support/held-bytes.ts";

const KEPT_MS = 2_000;
const MEGABYTE = 1024 * 1024;

function pod(name: string) {
  return {
    metadata: { name },
    spec: { containers: [{ name: "manager", ports: [{ name: "inspection", containerPort: 8443 }] }] },
    status: { phase: "Running", podIP: "127.0.0.1" },
  };
}

function fixtureOf(answer: (replica: string) => unknown = (replica) => replica) {
  const clock = new ManualClock();
  const asked: string[] = [];
  let lists = 0;
  const list = async () => {
    lists += 1;
    return { items: [pod("one"), pod("two")] };
  };
  const ask = async ({ name }: { readonly name: string }, path: string) => {
    asked.push(path);
    return answer(name);
  };
  const client = { list } as unknown as KubeClient;
  const replicas = new Replicas({ client, namespace: "pool", self: "one", ask, clock, log: silentLog });
  return { clock, replicas, asked, lists: () => lists };
}

describe("what the API server and other replicas are asked for readers", () => {
  it("is asked once for all who ask in the same moment", async () => {
    const { clock, replicas, asked, lists } = fixtureOf();
    const paths = Array.from({ length: 20 }, (_, at) => `/asked?scope=${at % 10}`);
    const answers = await Promise.all(paths.map((path) => replicas.ask(path)));
    expect(answers.every(({ answers: [only] }) => only?.answer === "two")).toBe(true);
    expect([asked.length, lists()]).toEqual([10, 1]);
    await clock.advance(KEPT_MS);
    await replicas.ask("/asked?scope=0");
    expect([asked.length, lists()]).toEqual([11, 2]);
  });

  it("is kept for the last few hundred questions, however many a reader makes up", async () => {
    const { replicas, asked } = fixtureOf();
    const ask = (at: number) => replicas.ask(`/asked?scope=${at}`);
    for (let at = 0; at < 1_000; at++) await ask(at);
    await ask(999);
    expect(asked).toHaveLength(1_000);
    await ask(0);
    expect(asked).toHaveLength(1_001);
  });

  it("is forgotten when nobody may be told it any more", async () => {
    const { clock, replicas } = fixtureOf(() => new Array(MEGABYTE / 8).fill(0));
    const before = heldBytes();
    for (let at = 0; at < 200; at++) await replicas.ask(`/asked?scope=${at}`);
    expect(heldBytes() - before).toBeGreaterThan(50 * MEGABYTE);
    await clock.advance(KEPT_MS);
    expect(heldBytes() - before).toBeLessThan(10 * MEGABYTE);
  });

  it("who leads is read every two seconds at most, also while the API server refuses", async () => {
    const clock = new ManualClock();
    let reads = 0;
    let lease: object | undefined = { holderIdentity: "one", renewTime: new Date(clock.now()).toISOString() };
    const get = async () => {
      reads += 1;
      if (lease === undefined) throw new Error("refused");
      return { spec: { leaseDurationSeconds: 15, ...lease } };
    };
    const leader = leaderBy({ get } as unknown as KubeClient, { name: "lease", namespace: "pool" }, clock);
    const told = await Promise.all([leader(), leader(), leader()]);
    expect(told.map((each) => each?.identity)).toEqual(["one", "one", "one"]);
    expect(reads).toBe(1);
    lease = undefined;
    await clock.advance(KEPT_MS);
    await expect(leader()).rejects.toThrow("refused");
    await expect(leader()).rejects.toThrow("refused");
    expect(reads).toBe(2);
  });
});
