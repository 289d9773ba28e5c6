import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { releaseText } from "../../deploy/support/release-text.ts";
import { eventually } from "../../support/eventually.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "../support/installed-operator.ts";
import { WRONG_SPECS } from "./wrong-specs.ts";

const WITHOUT_RULES = releaseText("crds-without-rules/networkaddonsconfigs.yaml");
/** Part of the contract: a wrong configuration is Degraded, and a right one is well again. */
const SAID_WITHIN = { timeout: 5_000, interval: 25 };
const PREFIX = "failed to validate NetworkConfig.Spec: invalid configuration:\n";

/** One story: the tests follow each other on one cluster. */
describe("with the definition without rules, the status", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    const applied = await cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], WITHOUT_RULES);
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    cluster.start();
    await cluster.applyConfig({});
    await eventually("the API server to take what is wrong", () => replace(WRONG_SPECS[0]?.spec));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function replace(spec: unknown): Promise<object> {
    const live = await cluster.admin.get(CONFIGS, { name: "cluster" });
    return cluster.admin.update(CONFIGS, { ...live, spec } as typeof live);
  }

  /** Of the condition Degraded, once it is that of the present spec. */
  async function verdict(): Promise<object | undefined> {
    const config = await cluster.config();
    if (config?.status?.observedGeneration !== config?.metadata.generation) return undefined;
    const degraded = config?.status?.conditions?.find(({ type }) => type === "Degraded");
    return { status: degraded?.status, reason: degraded?.reason, message: degraded?.message };
  }

  /** Available, and not Degraded, with the present spec. Workloads are reported as running meanwhile. */
  async function isWell(): Promise<boolean> {
    await cluster.rollOut();
    const { metadata, status } = (await cluster.config()) ?? {};
    const isTrue = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted)?.status === "True";
    return status?.observedGeneration === metadata?.generation && isTrue("Available") && !isTrue("Degraded");
  }

  it.each(WRONG_SPECS.filter(({ isMistyped }) => isMistyped === undefined))("says: $what", async ({ spec, texts }) => {
    await expect.poll(() => replace(spec)).toBeDefined();
    const message = PREFIX + texts.join("\n");
    await expect.poll(verdict, SAID_WITHIN).toEqual({ status: "True", reason: "FailedToValidate", message });
  });

  it("names the object and the reason where nonsense is left to the API server, and the rest is deployed", async () => {
    const terms = [{ matchFields: [{ key: "no.field", operator: "In", values: ["a"] }] }];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
    const workloads = { affinity: { nodeAffinity } };
    const spec = { linuxBridge: {}, kubeMacPool: {}, placementConfiguration: { workloads } };
    await expect.poll(() => replace(spec)).toBeDefined();
    await expect.poll(verdict).toMatchObject({
      status: "True",
      reason: "FailedToApply",
      message: expect.stringMatching(/DaemonSet \S+\/bridge-marker.*no[.]field/s),
    });
    const manager = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
    await expect.poll(() => cluster.isThere(RESOURCES.deployments, manager)).toBe(true);
  });

  it("is well again when the spec is right", async () => {
    await expect.poll(() => replace({})).toBeDefined();
    await expect.poll(isWell, SAID_WITHIN).toBe(true);
  });
});
