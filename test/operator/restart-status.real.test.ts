import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const STANDS_STILL = `DaemonSet "${NAMESPACE}/bridge-marker": nothing has happened for`;
const WEBHOOK_STANDS_STILL = `Deployment "${NAMESPACE}/linux-bridge-webhook": nothing has happened for`;

/** One story: the tests follow each other on one cluster. */
describe("the status of an operator that is started anew", () => {
  let cluster: InstalledOperator;
  let said = "";

  beforeAll(async () => {
    cluster = await InstalledOperator.install({ bare: true });
    cluster.start({ ...DEFAULT_SETTINGS, podTroubleDeadlineMs: 1 });
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
    await cluster.until(async () => (await cluster.find(RESOURCES.daemonSets, MARKER)) !== undefined);
    const counts = { desiredNumberScheduled: 1, currentNumberScheduled: 1, numberMisscheduled: 0, numberReady: 0 };
    const status = { ...counts, numberUnavailable: 1, updatedNumberScheduled: 1, observedGeneration: 1 };
    const patch = { type: "merge", body: { status } } as const;
    await cluster.admin.patch(RESOURCES.daemonSets, MARKER, patch, { subresource: "status" });
    const marked = `${STANDS_STILL} 0.001 s: not available (awaiting 1 nodes)`;
    await cluster.until(async () => (await row("linuxBridge"))?.message?.includes(marked) === true);
    await cluster.stop();
    said = (await row("linuxBridge"))?.message ?? "";
    expect(said).toContain(WEBHOOK_STANDS_STILL);
    await cluster.admin.patch(
      NETWORK_ADDONS_CONFIGS,
      { name: NETWORK_ADDONS_CONFIG_NAME },
      {
        type: "merge",
        body: { status: { components: [await row("linuxBridge"), { name: "kubeMacPool", phase: "Progressing" }] } },
      },
      { subresource: "status" },
    );
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const row = async (component: string) =>
    (await cluster.config())?.status?.components?.find(({ name }) => name === component);

  it("goes on to say what it said of a component, and no more than it said", async () => {
    cluster.start();
    await expect
      .poll(() => row("linuxBridge"))
      .toMatchObject({
        phase: "Degraded",
        reason: "ProgressDeadlineExceeded",
        message: said.replaceAll("0.001 s", "300 s"),
      });
    expect(await row("kubeMacPool")).toMatchObject({ phase: "Progressing", reason: "Deploying" });
    await cluster.stop();
  });

  it("does not say that nothing has happened to what it has just changed", async () => {
    const placementConfiguration = { workloads: { nodeSelector: { "example.com/workers": "" } } };
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {}, placementConfiguration });
    cluster.start();
    await cluster.until(async () => (await cluster.config())?.status?.observedGeneration === 2);
    const { message = "" } = (await row("linuxBridge")) ?? {};
    expect(message).toContain(WEBHOOK_STANDS_STILL);
    expect(message).not.toContain(STANDS_STILL);
    expect((await cluster.find(RESOURCES.daemonSets, MARKER))?.metadata.generation).toBe(2);
  });
});
