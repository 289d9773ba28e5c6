import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIG_CRD } from "../../src/api/crds.ts";
import { APPLIED_CONFIG_MAP, OPERATOR_NAME } from "../../src/api/names.ts";
import type { CustomResourceDefinition } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { breakGroup } from "./support/broken-group.ts";
import { NETWORKS_CRD } from "./support/external-kinds.ts";
import { idleWrites } from "./support/idle-writes.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { formerOperator } from "./support/predecessor.ts";
import { isRefused, REFUSAL_TEXT, refuse } from "./support/refusal.ts";

const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const DEFINITION = { name: NETWORK_ADDONS_CONFIG_CRD.metadata.name ?? "" };
const RECORD = { name: APPLIED_CONFIG_MAP, namespace: NAMESPACE };

/** As a CRD from before these rules and fields. */
function older({ spec }: CustomResourceDefinition): object {
  const versions = spec.versions.map((version) => {
    const { status } = version.schema?.openAPIV3Schema?.properties ?? {};
    const { components: _, observedGeneration: __, ...properties } = status?.properties ?? {};
    const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const schema = { type: "object", properties: { spec: anything, status: { ...status, properties } } };
    return { ...version, schema: { openAPIV3Schema: schema } };
  });
  return { spec: { ...spec, versions } };
}

/** One story: the tests follow each other on one cluster. */
describe("the status of the operator on a real API server", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.addNode("node-a");
    const body = older(NETWORK_ADDONS_CONFIG_CRD as unknown as CustomResourceDefinition);
    await cluster.admin.patch(RESOURCES.crds, DEFINITION, { type: "merge", body });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const degraded = async () => (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded");
  const isStatusWrite = (write: string) => write === "patch NetworkAddonsConfig cluster";

  /** The older definition has no observedGeneration to wait for. */
  const untilAvailable = () =>
    cluster.until(async () => {
      await cluster.rollOut();
      return (await cluster.condition("Available")) === "True";
    });

  /** Takes the operator's right to a resource away until it is disposed of. */
  async function withoutRight(resource: string): Promise<AsyncDisposable> {
    const changes: (() => Promise<unknown>)[] = [];
    for (const kind of [RESOURCES.clusterRoles, RESOURCES.roles]) {
      for (const role of (await cluster.admin.list(kind)).items) {
        const { name = "", namespace, labels } = role.metadata;
        if (labels?.name !== OPERATOR_NAME) continue;
        const set = (rules: typeof role.rules) =>
          cluster.admin.patch(kind as Resource, { name, namespace }, { type: "merge", body: { rules } });
        await set(role.rules?.filter(({ resources = [] }) => !resources.includes(resource)));
        changes.push(() => set(role.rules));
      }
    }
    return { [Symbol.asyncDispose]: async () => void (await Promise.all(changes.map((undo) => undo()))) };
  }

  it("says that the operator's own records are refused, and goes on when they are taken", async () => {
    {
      await using _ = await refuse(cluster.admin, { apiGroup: "", resource: "configmaps", operation: "CREATE" });
      const probe = { metadata: { name: "probe", namespace: NAMESPACE } };
      const create = () => cluster.admin.create(RESOURCES.configMaps, probe, { dryRun: true });
      await expect.poll(() => isRefused(create)).toBe(true);
      cluster.start();
      await cluster.applyConfig({ linuxBridge: {} });
      await expect.poll(degraded).toMatchObject({
        status: "True",
        reason: "FailedToApply",
        message: expect.stringMatching(
          `ConfigMap ${NAMESPACE}/${APPLIED_CONFIG_MAP} could not be written: .*${REFUSAL_TEXT}`,
        ),
      });
    }
    await untilAvailable();
  });

  it("is written once where the definition is older and drops fields of it", async () => {
    expect((await idleWrites(cluster)).filter(isStatusWrite)).toEqual([]);
    expect((await cluster.config())?.status).not.toHaveProperty("components");
  });

  it("says that a wrong spec is refused, while the last good one is still repaired", async () => {
    const wrong = { linuxBridge: {}, kubeMacPool: { rangeStart: "02:00:00:00:00:00" } };
    expect(await cluster.applyConfig(wrong)).toMatchObject({ code: 0 });
    await expect.poll(degraded).toMatchObject({
      reason: "FailedToValidate",
      message:
        "failed to validate NetworkConfig.Spec: invalid configuration:\n" +
        "both or none of the KubeMacPool ranges needs to be configured",
    });
    const before = await cluster.find(RESOURCES.daemonSets, MARKER);
    await cluster.admin.delete(RESOURCES.daemonSets, MARKER);
    await cluster.until(async () => {
      const after = await cluster.find(RESOURCES.daemonSets, MARKER);
      return after !== undefined && after.metadata.uid !== before?.metadata.uid;
    });
    const hostNetwork = async () =>
      (await cluster.find(RESOURCES.daemonSets, MARKER))?.spec?.template.spec?.hostNetwork;
    const body = { spec: { template: { spec: { hostNetwork: false } } } };
    await cluster.admin.patch(RESOURCES.daemonSets, MARKER, { type: "merge", body });
    await expect.poll(hostNetwork).toBe(true);
    expect(await degraded()).toMatchObject({ reason: "FailedToValidate" });
    expect(JSON.parse((await cluster.find(RESOURCES.configMaps, RECORD))?.data?.applied ?? "")).not.toHaveProperty(
      "kubeMacPool",
    );
    await cluster.admin.patch(CONFIGS, { name: "cluster" }, { type: "merge", body: { spec: { kubeMacPool: null } } });
    await untilAvailable();
    expect(await degraded()).toMatchObject({ status: "False" });
  });

  it("says that OpenShift's network configuration can't be read", async () => {
    await cluster.stop();
    {
      await using _ = await breakGroup(cluster, [NETWORKS_CRD]);
      cluster.start({ ...DEFAULT_SETTINGS, podTroubleDeadlineMs: 1 });
      await expect.poll(degraded).toMatchObject({
        reason: "FailedToGetOpenShiftNetworkConfig",
        message: expect.stringContaining("the API server answered 503"),
      });
    }
    await untilAvailable();
  });

  it("says that OpenShift's network configuration may not be read", async () => {
    await cluster.stop();
    {
      await using _ = await withoutRight("networks");
      cluster.start();
      await expect.poll(degraded).toMatchObject({
        reason: "FailedToGetOpenShiftNetworkConfig",
        message: expect.stringContaining("the API server answered 403"),
      });
    }
    await cluster.stop();
    cluster.start();
    await untilAvailable();
  });

  it("says that nobody can tell whether another operator is in charge", async () => {
    const theirs = formerOperator("default");
    {
      await using _ = await withoutRight("subjectaccessreviews");
      await cluster.admin.create(RESOURCES.deployments, theirs);
      await expect.poll(degraded).toMatchObject({
        status: "True",
        reason: "FailedToApply",
        message: expect.stringMatching(/^whether another operator is in charge is not known: .*cannot create resource/),
      });
    }
    await untilAvailable();
    await cluster.admin.delete(RESOURCES.deployments, { name: OPERATOR_NAME, namespace: "default" });
  });

  it("says that the operator's pods can't be seen, and with them another operator", async () => {
    await cluster.stop();
    {
      await using _ = await withoutRight("pods");
      cluster.start({ ...DEFAULT_SETTINGS, podTroubleDeadlineMs: 1 });
      await expect.poll(degraded).toMatchObject({
        reason: "FailedToApply",
        message: expect.stringMatching(
          /^whether another operator is in charge is not known: the API server does not list pods: .*cannot list/,
        ),
      });
    }
    await cluster.stop();
    cluster.start();
    await untilAvailable();
  });

  it("says what can't be deleted while the configuration is being deleted", async () => {
    {
      const refused = { apiGroup: "apps", resource: "daemonsets", operation: "DELETE" } as const;
      await using _ = await refuse(cluster.admin, refused);
      const remove = () => cluster.admin.delete(RESOURCES.daemonSets, MARKER, { dryRun: true });
      await expect.poll(() => isRefused(remove)).toBe(true);
      await cluster.kubectl(["delete", "nac", "cluster", "--wait=false"]);
      await expect.poll(degraded).toMatchObject({
        status: "True",
        reason: "FailedToDeleteObjects",
        message: expect.stringMatching(`DaemonSet ${NAMESPACE}/bridge-marker could not be deleted: .*${REFUSAL_TEXT}`),
      });
    }
    await cluster.until(async () => (await cluster.config()) === undefined);
  });
});
