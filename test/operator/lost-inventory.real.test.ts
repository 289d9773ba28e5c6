import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { podsLike } from "./support/pods-like.ts";

const RECORD = { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE };
const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const MARKERS_FENCE = { name: "bridge-marker" };
const MARKERS_ROLE = { name: "bridge-marker-cr" };

const LOSSES: Readonly<Record<string, (cluster: InstalledOperator) => Promise<unknown>>> = {
  deleted: ({ admin }) => admin.delete(RESOURCES.configMaps, RECORD),
  garbled: ({ admin }) =>
    admin.patch(RESOURCES.configMaps, RECORD, { type: "merge", body: { data: { objects: "[{" } } }),
};

describe("an operator that knows less than it should", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: NAMESPACE } });
    cluster.start();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function deploy(): Promise<void> {
    await cluster.until(async () => (await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} })).code === 0);
    await cluster.rollOutUntilAvailable();
  }

  it.each(Object.keys(LOSSES))("removes in order when the inventory was %s meanwhile", async (loss) => {
    await deploy();
    const [own] = await podsLike(cluster, MARKER);
    if (own !== undefined) await cluster.admin.create(RESOURCES.pods, own);
    await cluster.stop();
    await LOSSES[loss]?.(cluster);
    await cluster.kubectl(["delete", "nac", "cluster", "--wait=false"]);
    cluster.client.writes.length = 0;
    cluster.start();

    await cluster.until(
      async () => !(await cluster.isThere(RESOURCES.clusterRoles, { name: "kubemacpool-manager-role" })),
    );
    expect(await cluster.isThere(RESOURCES.daemonSets, MARKER)).toBe(false);
    expect(await cluster.isThere(RESOURCES.clusterRoles, MARKERS_ROLE)).toBe(true);
    expect((await cluster.config())?.metadata.finalizers).toHaveLength(1);
    await cluster.admin.delete(RESOURCES.pods, { name: "bridge-marker-own", namespace: NAMESPACE });
    await cluster.until(async () => (await cluster.config()) === undefined);

    const deleted = cluster.client.writes
      .filter((write) => write.startsWith("delete "))
      .map((write) => write.split(" ")[1]);
    const [webhooks, workloads] = [/WebhookConfiguration$/, /^(Deployment|DaemonSet)$/].map((kinds) =>
      deleted.flatMap((kind = "", index) => (kinds.test(kind) ? [index] : [])),
    );
    const roles = deleted.flatMap((kind, index) => (kind === "ClusterRole" ? [index] : []));
    expect(webhooks).toHaveLength(3);
    expect(Math.max(...(webhooks ?? []))).toBeLessThan(Math.min(...(workloads ?? [])));
    expect(Math.max(...(workloads ?? []))).toBeLessThan(Math.min(...roles));
    expect(await cluster.isThere(RESOURCES.clusterRoles, MARKERS_ROLE)).toBe(false);
    expect((await cluster.admin.list(RESOURCES.configMaps, { namespace: NAMESPACE })).items).toEqual([]);
  });

  it("does not begin a removal on the word of a cache that a 404 has emptied", async () => {
    await deploy();
    await cluster.stop();
    const { client } = cluster;
    const { wholeList, page } = client;
    const isAway = (resource: Resource) => resource.kind === NETWORK_ADDONS_CONFIGS.kind;
    const away = new ApiError({
      status: 404,
      reason: "NotFound",
      message: "the server could not find the requested resource",
    });
    const unlessAway = (list: (...args: never[]) => unknown) =>
      ((resource: Resource, ...rest: unknown[]) =>
        isAway(resource) ? Promise.reject(away) : Reflect.apply(list, client, [resource, ...rest])) as never;
    Object.assign(client, { wholeList: unlessAway(wholeList), page: unlessAway(page) });
    client.writes.length = 0;
    cluster.start();
    const looked = async () =>
      (await cluster.metrics.metrics()).match(
        /^controller_runtime_reconcile_total\{.*result="(success|requeue_after)".*\} [1-9]/m,
      );
    await expect.poll(looked, { timeout: 20_000 }).not.toBeNull();
    expect(client.writes).toEqual([]);
    expect(await cluster.isThere(RESOURCES.daemonSets, MARKER)).toBe(true);
    Object.assign(client, { wholeList, page });
    await cluster.rollOutUntilAvailable();
  });

  it.each([
    ["", {}],
    [", and which has lost its labels", { labels: null }],
  ])("puts back what can't be merged with what others made of it%s", async (_what, metadata) => {
    await deploy();
    await cluster.stop();
    const edit = { type: "merge", body: { metadata, spec: { validationActions: ["Warn"] } } } as const;
    await cluster.admin.patch(RESOURCES.validatingAdmissionPolicyBindings, MARKERS_FENCE, edit);
    await cluster.admin.delete(RESOURCES.configMaps, RECORD);
    cluster.start();
    await cluster.until(async () => {
      const { spec } = await cluster.admin.get(RESOURCES.validatingAdmissionPolicyBindings, MARKERS_FENCE);
      return spec?.validationActions?.join() === "Deny";
    });
    await cluster.rollOutUntilAvailable();
  });

  it("was never refused anything", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
