import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CRDS } from "../../src/api/crds.ts";
import { MAC_CLAIMS, MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import type { Deployment } from "../../src/kube/client/built-in-kinds.ts";
import type { Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { releaseText } from "../deploy/support/release-text.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { podsLike } from "./support/pods-like.ts";

const POOLS: Resource<MACPool> = MAC_POOLS;
const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const MANAGER = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
const MUTATOR = { name: "kubemacpool-mutator" };
const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" };

/** One story: the tests follow each other on one cluster. */
describe("what the operator takes away on a real API server", () => {
  let cluster: InstalledOperator;
  const labelsOfTheNamespace = async () =>
    (await cluster.admin.get(RESOURCES.namespaces, { name: NAMESPACE })).metadata.labels;
  let before: unknown;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    before = await labelsOfTheNamespace();
    cluster.start();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function define(folder: string): Promise<void> {
    const definition = releaseText(`${folder}/networkaddonsconfigs.yaml`);
    const applied = await cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], definition);
    expect(applied).toMatchObject({ code: 0 });
  }

  it("is nothing where nothing was deployed: a configuration that was never valid goes without the operator", async () => {
    await define("crds-without-rules");
    const wrong = { kubeSecondaryDNS: { nameServerIP: "no address" } };
    await cluster.until(async () => (await cluster.applyConfig(wrong)).code === 0);
    await cluster.until(async () => (await cluster.condition("Degraded")) === "True");
    expect((await cluster.config())?.metadata.finalizers).toBeUndefined();
    await cluster.stop();
    expect(await cluster.kubectl(["delete", "nac", "cluster"])).toMatchObject({ code: 0 });
    await define("crds");
    cluster.start();
  });

  it("is a component and nothing else: claims, pool and the other component stay", async () => {
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: RANGE });
    await cluster.rollOutUntilAvailable();
    await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(CLAIM));
    const marker = await cluster.find(RESOURCES.daemonSets, MARKER);
    const ops = [{ op: "remove" as const, path: "/spec/kubeMacPool" }];
    await cluster.admin.patch(CONFIGS, { name: "cluster" }, { type: "json", ops });
    await cluster.until(
      async () => !(await cluster.isThere(RESOURCES.clusterRoles, { name: "kubemacpool-manager-role" })),
    );
    await cluster.until(
      async () => !(await cluster.isThere(RESOURCES.secrets, { name: "kubemacpool-service", namespace: NAMESPACE })),
    );
    expect(await cluster.isThere(RESOURCES.mutatingWebhookConfigurations, MUTATOR)).toBe(false);
    expect(await cluster.isThere(RESOURCES.deployments, MANAGER)).toBe(false);
    expect(await cluster.isThere(POOLS, { name: "default" })).toBe(true);
    expect(await cluster.isThere(MAC_CLAIMS, { name: CLAIM.metadata.name })).toBe(true);
    expect((await cluster.find(RESOURCES.daemonSets, MARKER))?.metadata.uid).toBe(marker?.metadata.uid);
    await cluster.rollOutUntilAvailable();
    expect((await cluster.config())?.status?.components?.map(({ name }) => name)).toEqual(["linuxBridge"]);
  });

  it("is not what a newer version applied and this one has no right to delete, and says so", async () => {
    const newer = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "newer-role" };
    await cluster.admin.create(RESOURCES.clusterRoles, { metadata: { name: newer.name }, rules: [] });
    const ref = { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE };
    const entries = async () => JSON.parse((await cluster.find(RESOURCES.configMaps, ref))?.data?.objects ?? "[]");
    const objects = JSON.stringify([...(await entries()), { ...newer, component: "linuxBridge" }]);
    await cluster.admin.patch(RESOURCES.configMaps, ref, { type: "merge", body: { data: { objects } } });
    await cluster.until(async () => !JSON.stringify(await entries()).includes(newer.name));
    expect(await cluster.isThere(RESOURCES.clusterRoles, { name: newer.name })).toBe(true);
    expect(cluster.warnings.filter((line) => line.includes("newer-role of a newer version stays"))).toHaveLength(1);
    expect(await cluster.condition("Degraded")).toBe("False");
  });

  it("is not the range: a component that comes back has it again", async () => {
    await cluster.admin.create(RESOURCES.deployments, FOREIGN);
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
    await cluster.rollOutUntilAvailable();
    const pool = await cluster.find(POOLS, { name: "default" });
    expect(pool?.spec.ranges).toEqual([{ start: RANGE.rangeStart, end: RANGE.rangeEnd }]);
    // A workload of the same name whose selector cannot be changed had to go.
    const manager = await cluster.find(RESOURCES.deployments, MANAGER);
    expect(manager?.spec?.selector.matchLabels).toEqual({ "control-plane": "mac-controller-manager" });
  });

  it("is a component whose inventory was lost before the operator could remove it", async () => {
    await cluster.stop();
    const role = { name: "kubemacpool-manager-role" };
    expect(await cluster.isThere(RESOURCES.clusterRoles, role)).toBe(true);
    await cluster.admin.delete(RESOURCES.configMaps, { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE });
    const ops = [{ op: "remove" as const, path: "/spec/kubeMacPool" }];
    await cluster.admin.patch(CONFIGS, { name: "cluster" }, { type: "json", ops });
    cluster.start();
    await cluster.until(async () => !(await cluster.isThere(RESOURCES.clusterRoles, role)));
    await cluster.until(async () => !(await cluster.isThere(RESOURCES.deployments, MANAGER)));
    expect(await cluster.isThere(POOLS, { name: "default" })).toBe(true);
    expect(await cluster.isThere(RESOURCES.daemonSets, MARKER)).toBe(true);
  });

  it("is everything but data at the end, and the daemons' rights only after the daemons", async () => {
    await cluster.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: NAMESPACE } });
    for (const pod of await podsLike(cluster, MARKER)) await cluster.admin.create(RESOURCES.pods, pod);
    await cluster.kubectl(["delete", "nac", "cluster", "--wait=false"]);

    await cluster.until(async () => !(await cluster.isThere(RESOURCES.daemonSets, MARKER)));
    expect(await cluster.isThere(RESOURCES.mutatingWebhookConfigurations, { name: "linux-bridge-webhook" })).toBe(
      false,
    );
    await cluster.until(
      async () => !(await cluster.isThere(RESOURCES.clusterRoles, { name: "kubemacpool-manager-role" })),
    );
    expect(await cluster.isThere(RESOURCES.clusterRoles, { name: "bridge-marker-cr" })).toBe(true);
    expect((await cluster.config())?.metadata.finalizers).toHaveLength(1);
    const tooEarly = await cluster.kubectl(["delete", "--dry-run=server", "namespace", NAMESPACE]);
    expect(tooEarly.stderr).toContain("A NetworkAddonsConfig exists. Delete it first");

    await cluster.admin.delete(RESOURCES.pods, { name: "bridge-marker-own", namespace: NAMESPACE });
    await cluster.until(async () => (await cluster.config()) === undefined);
    // Nobody deletes a pod that only has the same labels, and nothing waits for it.
    expect(await cluster.isThere(RESOURCES.pods, { name: "bridge-marker-theirs", namespace: NAMESPACE })).toBe(true);
    const left = new Set<string | undefined>();
    for (const object of renderEverything(DEFAULT_SETTINGS))
      if (await cluster.exists(object)) left.add(object.metadata.name);
    expect([...left].sort()).toEqual([...CRDS.slice(1).map(({ metadata }) => metadata.name), "default"].sort());
    expect(await cluster.isThere(MAC_CLAIMS, { name: CLAIM.metadata.name })).toBe(true);
    const { items } = await cluster.admin.list(RESOURCES.configMaps, { namespace: NAMESPACE });
    expect(items).toEqual([]);
    expect(await labelsOfTheNamespace()).toEqual(before);
  });

  it("was never refused anything", () => {
    expect(
      cluster.warnings.filter((warning) => warning.includes("orbidden") && !warning.includes("newer-role")),
    ).toEqual([]);
  });
});

const FOREIGN: Deployment = {
  metadata: MANAGER,
  spec: {
    selector: { matchLabels: { old: "yes" } },
    template: { metadata: { labels: { old: "yes" } }, spec: { containers: [{ name: "old", image: "old" }] } },
  },
};

const CLAIM = {
  apiVersion: "macpool.network.kubevirt.io/v1alpha1",
  kind: "MACClaim",
  metadata: {
    name: "mac-02-5d-1c-00-00-01",
    annotations: { "macpool.network.kubevirt.io/break-glass": "true" },
  },
  spec: { mac: "02:5d:1c:00:00:01", origin: "explicit" },
};
