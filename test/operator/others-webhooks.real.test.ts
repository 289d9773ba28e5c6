import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { HostileWebhook } from "./sequences/hostile-webhook.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const PLUGINS = { name: "kube-cni-linux-bridge-plugin", namespace: NAMESPACE };
const POOL = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
const POOLS: Resource<MACPool> = MAC_POOLS;
const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" };
const IN_THE_WAY_OF_THE_MARKER = "request.kind.kind == 'DaemonSet' && request.name == 'bridge-marker'";

/** One story: the tests follow each other on one cluster. */
describe("beside a webhook of others that is in the way of one object, the operator", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.addNode("node-a");
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const row = async (name: string) => (await cluster.config())?.status?.components?.find((one) => one.name === name);
  const isWhole = async () =>
    (await cluster.isThere(RESOURCES.daemonSets, PLUGINS)) && (await cluster.isThere(RESOURCES.deployments, POOL));

  it("names object, reason and what to do where the webhook refuses, and deploys the rest", async () => {
    {
      await using _ = await HostileWebhook.install(cluster, "refuses", { concerns: IN_THE_WAY_OF_THE_MARKER });
      cluster.start();
      await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
      await expect
        .poll(() => row("linuxBridge"))
        .toMatchObject({
          phase: "Degraded",
          reason: "FailedToApply",
          message:
            `DaemonSet ${NAMESPACE}/bridge-marker could not be applied: admission webhook "hostile.example.com" denied the ` +
            "request: the house rules forbid it. Change or delete webhook hostile.example.com, or exempt namespace " +
            NAMESPACE,
        });
      await cluster.until(isWhole);
      expect(await row("kubeMacPool")).toMatchObject({ phase: "Progressing" });
      expect(await cluster.isThere(RESOURCES.daemonSets, MARKER)).toBe(false);
    }
    await cluster.rollOutUntilAvailable();
  });

  it("reports everything in time where the webhook does not answer, and goes on when it is gone", async () => {
    {
      const slow = { concerns: IN_THE_WAY_OF_THE_MARKER, timeoutSeconds: 30 };
      await using _ = await HostileWebhook.install(cluster, "hangs", slow);
      const linuxBridge = { bridgeMarkerHealthPort: 18_081 };
      await cluster.applyConfig({ linuxBridge, kubeMacPool: {} });
      await expect
        .poll(() => row("linuxBridge"), { timeout: 10_000 })
        .toMatchObject({
          phase: "Progressing",
          message: expect.stringContaining("linuxBridge is still being applied, because the API server answers slowly"),
        });
      await cluster.applyConfig({ linuxBridge, kubeMacPool: RANGE });
      const start = async () => (await cluster.find(POOLS, { name: "default" }))?.spec.ranges[0]?.start;
      await expect.poll(start, { timeout: 10_000 }).toBe(RANGE.rangeStart);
    }
    await cluster.rollOutUntilAvailable();
    const containers = (await cluster.find(RESOURCES.daemonSets, MARKER))?.spec?.template.spec?.containers;
    expect(JSON.stringify(containers)).toContain("18081");
  });

  it("removes a component while its objects are being applied", async () => {
    {
      const slow = { concerns: IN_THE_WAY_OF_THE_MARKER, timeoutSeconds: 30 };
      await using _ = await HostileWebhook.install(cluster, "hangs", slow);
      await cluster.applyConfig({ linuxBridge: { bridgeMarkerHealthPort: 18_082 }, kubeMacPool: RANGE });
      await expect
        .poll(() => row("linuxBridge"), { timeout: 10_000 })
        .toMatchObject({ message: expect.stringContaining("still being applied") });
      await cluster.applyConfig({ kubeMacPool: RANGE });
    }
    await cluster.until(async () => !(await cluster.isThere(RESOURCES.daemonSets, MARKER)));
    await cluster.rollOutUntilAvailable();
  });
});
