import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { LeaderElector } from "../../../src/kube/leader/leader-election.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane/control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { adminClient } from "../support/real-api-server.ts";

const namespace = "default";
const TIMES = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 200 };

let controlPlane: ControlPlane;
let client: KubeClient;
let candidates: Candidate[];
let leases = 0;
let name: string;

/** One replica: leads until its signal aborts, and remembers. */
class Candidate {
  readonly elector: LeaderElector;
  readonly stop = new AbortController();
  readonly running: Promise<void>;
  terms = 0;
  leading = false;

  constructor(identity: string) {
    this.elector = new LeaderElector({ client, namespace, name, identity, ...TIMES });
    this.running = this.elector.run(this.stop.signal, async (signal) => {
      this.terms++;
      this.leading = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      this.leading = false;
    });
    candidates.push(this);
  }
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  client = await adminClient(controlPlane);
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await controlPlane?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  candidates = [];
  name = `lease-${leases++}`;
});

afterEach(async () => {
  for (const candidate of candidates) {
    candidate.stop.abort();
  }
  await Promise.all(candidates.map((candidate) => candidate.running));
});

const spec = async () => (await client.get(RESOURCES.leases, { namespace, name })).spec;

describe("against a real API server", () => {
  test("one of three leads; when it stops it releases, and another follows before the lease would have expired", async () => {
    const all = ["a", "b", "c"].map((identity) => new Candidate(identity));
    const first = await eventually("a leader", () => all.find((one) => one.leading));
    expect(all.filter((one) => one.leading)).toHaveLength(1);
    expect(first.elector.isLeader).toBe(true);
    first.stop.abort();
    await first.running;
    expect(first.elector.isLeader).toBe(false);
    const second = await eventually("the next leader", () => all.find((one) => one.leading));
    expect(second).not.toBe(first);
    expect((await spec())?.leaseTransitions).toBeGreaterThanOrEqual(1);
  });

  test("a silent holder is waited for, then replaced", async () => {
    await client.create(RESOURCES.leases, {
      metadata: { namespace, name },
      spec: { holderIdentity: "dead", leaseDurationSeconds: 15, renewTime: "2100-01-01T00:00:00.000000Z" },
    });
    const candidate = new Candidate("a");
    await eventually("the lease was looked at", () => !candidate.leading);
    expect((await spec())?.holderIdentity).toBe("dead");
    await eventually("leading", () => candidate.leading);
    expect(await spec()).toMatchObject({ holderIdentity: "a", leaseTransitions: 1 });
  });

  test("a holder whose lease somebody else takes stops leading at once, and campaigns again", async () => {
    const candidate = new Candidate("a");
    await eventually("leading", () => candidate.leading);
    await client.patch(
      RESOURCES.leases,
      { namespace, name },
      { type: "merge", body: { spec: { holderIdentity: "thief" } } },
    );
    await eventually("not leading", () => !candidate.leading);
    expect(candidate.elector.isLeader).toBe(false);
    await eventually("leading again", () => candidate.terms === 2 && candidate.leading);
  });

  test("a leader that cannot reach the API server stops leading before anybody could follow it", async () => {
    const candidate = new Candidate("a");
    await eventually("leading", () => candidate.leading);
    await controlPlane.killApiServer();
    await eventually("not leading", () => !candidate.leading);
    expect(candidate.elector.isLeader).toBe(false);
    await controlPlane.restartApiServer();
    await eventually("leading again", () => candidate.leading, { limitMs: 30_000 });
  });

  test("an error of the leader's work releases the lease and is given to the caller", async () => {
    const elector = new LeaderElector({ client, namespace, name, identity: "a", ...TIMES });
    const running = elector.run(new AbortController().signal, async () => {
      throw new Error("work failed");
    });
    await expect(running).rejects.toThrow("work failed");
    expect((await spec())?.holderIdentity).toBe("");
  });

  test("work that is done releases the lease and ends the election", async () => {
    const elector = new LeaderElector({ client, namespace, name, identity: "a", ...TIMES });
    await elector.run(new AbortController().signal, async () => {});
    expect((await spec())?.holderIdentity).toBe("");
  });
});
