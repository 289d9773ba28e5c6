import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { bindClusterRole, group } from "../support/rights.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

/** More than all seats of a small API server, so that every seat of the flood's level waits for the pool. */
const FLOOD = 150;
const SMALL = ["--max-requests-inflight=20", "--max-mutating-requests-inflight=10"];
const GROUPS = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];

describe("a flood of creations by one service account", () => {
  let fixture: PoolFixture;
  const clients: KubeClient[] = [];

  beforeAll(async () => {
    fixture = await PoolFixture.start({ controlPlane: await startControlPlane({ apiServerArguments: SMALL }) });
    await bindClusterRole(fixture.admin, "cluster-admin", group(GROUPS[1] ?? ""));
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    for (const client of clients) await client[Symbol.asyncDispose]();
    await fixture?.[Symbol.asyncDispose]();
  });

  async function account(name: string): Promise<KubeClient> {
    const kubeconfig = await fixture.controlPlane.userKubeconfig(`system:serviceaccount:default:${name}`, GROUPS);
    const client = new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
    clients.push(client);
    return client;
  }

  it("starves neither itself, nor the pool whose writes it waits for, nor another account", async () => {
    const [flooder, other] = [await account("flooder"), await account("other")];
    const vm = (name: string) => machine(name, "default", [{ name: "a" }, { name: "b" }]);
    const flood = Array.from({ length: FLOOD }, (_, i) => flooder.create(KINDS.virtualMachines, vm(`flood-${i}`)));
    const meanwhile = Array.from({ length: 5 }, (_, i) => other.create(KINDS.virtualMachines, vm(`other-${i}`)));
    const created = await Promise.all([...flood, ...meanwhile]);
    const macs = created.flatMap(macsOf);
    expect(macs).toHaveLength(2 * (FLOOD + 5));
    expect(new Set(macs).size).toBe(macs.length);
  });

  it("finds the pool's writes in a priority level of their own", async () => {
    const metrics = String((await fixture.admin.raw("GET", "/metrics")).body);
    const line = metrics
      .split("\n")
      .find((each) => /^apiserver_flowcontrol_dispatched_requests_total\{.*priority_level="kubemacpool"/.test(each));
    expect(Number(line?.split(" ").at(-1))).toBeGreaterThan(2 * FLOOD);
  });
});
