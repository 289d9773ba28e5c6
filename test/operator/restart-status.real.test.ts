import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const STANDS_STILL = `DaemonSet "${NAMESPACE}/bridge-marker": nothing has happened for`;

/** One story: the tests follow each other on one cluster. */
describe("the status of an operator that is started anew", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install({ bare: true });
    cluster.start({ ...DEFAULT_SETTINGS, podTroubleDeadlineMs: 1 });
    await cluster.applyConfig({ linuxBridge: {} });
    await cluster.until(async () => (await cluster.find(RESOURCES.daemonSets, MARKER)) !== undefined);
    const counts = { desiredNumberScheduled: 1, currentNumberScheduled: 1, numberMisscheduled: 0, numberReady: 0 };
    const status = { ...counts, numberUnavailable: 1, updatedNumberScheduled: 1, observedGeneration: 1 };
    const patch = { type: "merge", body: { status } } as const;
    await cluster.admin.patch(RESOURCES.daemonSets, MARKER, patch, { subresource: "status" });
    await cluster.until(async () => (await degraded())?.message?.includes(`${STANDS_STILL} 0.001 s`) === true);
    await cluster.stop();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const degraded = async () => (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded");

  it("goes on to say what it said", async () => {
    cluster.start();
    await expect.poll(degraded).toMatchObject({
      status: "True",
      reason: "ProgressDeadlineExceeded",
      message: `${STANDS_STILL} 300 s: not available (awaiting 1 nodes). See kubectl describe daemonset -n ${NAMESPACE} bridge-marker`,
    });
    await cluster.stop();
  });

  it("does not say that nothing has happened to what it has just changed", async () => {
    const placementConfiguration = { workloads: { nodeSelector: { "example.com/workers": "" } } };
    await cluster.applyConfig({ linuxBridge: {}, placementConfiguration });
    cluster.start();
    await cluster.until(async () => (await cluster.config())?.status?.observedGeneration === 2);
    expect(await degraded()).toMatchObject({ status: "False" });
    expect((await cluster.find(RESOURCES.daemonSets, MARKER))?.metadata.generation).toBe(2);
  });
});
