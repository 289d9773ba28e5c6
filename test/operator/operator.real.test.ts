import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { APPLIED_CONFIG_MAP, LINUX_BRIDGE_DAEMON_SET } from "../../src/api/names.ts";
import type { Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { appliedKind } from "../../src/operator/apply/applied-kinds.ts";
import { COMPONENTS, renderEverything } from "../../src/operator/components/registry.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { idleWrites, wake } from "./support/idle-writes.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const POOLS: Resource<MACPool> = MAC_POOLS;
const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const MANAGER = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
const MUTATOR = { name: "kubemacpool-mutator" };
const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" };
const BOTH = { linuxBridge: {}, kubeMacPool: {} };
/** One component has the NetworkPolicies of all. */
const POLICIES_OF_OTHERS = /^(secondary-dns|kubevirt-ipam-controller)-allow-/;
const DEPLOYED = renderEverything(
  DEFAULT_SETTINGS,
  COMPONENTS.filter(({ name, standing }) => standing || name in BOTH),
).filter(({ metadata: { name = "" } }) => !POLICIES_OF_OTHERS.test(name));

/** One story: the tests follow each other on one cluster. */
describe("the operator on a real API server, with the rights of the release", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.addNode("node-a");
    await cluster.addNode("node-b");
    cluster.start();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function reasons(): Promise<string[]> {
    const { items } = await cluster.admin.list(RESOURCES.events, { namespace: "default" });
    return items.filter(({ regarding }) => regarding?.kind === "NetworkAddonsConfig").map(({ reason = "" }) => reason);
  }

  it("is installed again without a change", async () => {
    const dryRun = ["apply", "--server-side", "--dry-run=server", "-f", "deploy/release.yaml"];
    expect(await cluster.kubectl(dryRun)).toMatchObject({ code: 0, stderr: "" });
  });

  it("deploys what is asked for and reports it", async () => {
    expect(await cluster.applyConfig(BOTH)).toMatchObject({ code: 0 });
    await cluster.until(async () => (await cluster.condition("Progressing")) === "True");
    expect(await cluster.condition("Available")).toBe("False");
    await cluster.rollOutUntilAvailable();

    const missing = [];
    for (const object of DEPLOYED) if (!(await cluster.exists(object))) missing.push(object);
    expect(missing).toEqual([]);
    const status = (await cluster.config())?.status;
    expect(status).toMatchObject({ observedVersion: "0.1.0", operatorVersion: "0.1.0", targetVersion: "0.1.0" });
    expect(status?.containers).toHaveLength(5);
    expect(status?.components?.map(({ phase }) => phase)).toEqual(["Available", "Available"]);
    await cluster.until(async () => (await reasons()).includes("Available"));
    expect((await reasons()).sort()).toEqual(["Available", "Progressing"]);
  });

  it("chooses a range once, for the pool, the ConfigMap and its own record", async () => {
    const pool = await cluster.find(POOLS, { name: "default" });
    const [range] = pool?.spec.ranges ?? [];
    expect(range?.start).toMatch(/^02:..:..:00:00:00$/);
    const configMap = await cluster.find(RESOURCES.configMaps, {
      name: "kubemacpool-mac-range-config",
      namespace: NAMESPACE,
    });
    expect(configMap?.data).toEqual({ RANGE_START: range?.start, RANGE_END: range?.end });
    const record = await cluster.find(RESOURCES.configMaps, { name: APPLIED_CONFIG_MAP, namespace: NAMESPACE });
    expect(JSON.parse(record?.data?.applied ?? "")).toMatchObject({
      kubeMacPool: { rangeStart: range?.start, rangeEnd: range?.end },
      imagePullPolicy: "IfNotPresent",
    });
  });

  it("tells monitoring the truth", async () => {
    const text = await cluster.metrics.metrics();
    expect(text.split("\n")).toEqual(
      expect.arrayContaining(["kubevirt_cnao_cr_ready 1", "kubevirt_cnao_cr_kubemacpool_deployed 1"]),
    );
    expect(text).toContain('workqueue_adds_total{name="network-addons-config"}');
    expect(text).toContain('informer_staleness_seconds{resource="networkaddonsconfigs"}');
  });

  it("writes nothing while nothing has to change", async () => {
    expect(await idleWrites(cluster)).toEqual([]);
  });

  it("follows a rollout at a steady pace, however many nodes report", async () => {
    const nodes = 100;
    const reports = () => cluster.client.writes.filter((write) => write === "patch NetworkAddonsConfig cluster").length;
    cluster.client.writes.length = 0;
    const startedMs = performance.now();
    await cluster.reportDaemonSet(MARKER, nodes, 0);
    await cluster.until(async () => (await cluster.condition("Available")) === "False");
    for (let available = 1; available <= nodes; available++) await cluster.reportDaemonSet(MARKER, nodes, available);
    await cluster.until(async () => (await cluster.condition("Available")) === "True");
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(reports()).toBeGreaterThan(1);
    // A conflict is tried again at once.
    expect(reports()).toBeLessThanOrEqual(2 * Math.ceil(seconds) + 1);
  });

  it("brings back what was deleted", async () => {
    const victims = DEPLOYED.filter(({ kind }) => kind !== "CustomResourceDefinition");
    for (const object of victims) {
      const { name = "", namespace } = object.metadata;
      const before = await cluster.find(appliedKind(object).resource, { name, namespace });
      await cluster.admin.delete(appliedKind(object).resource, { name, namespace });
      await cluster.until(async () => {
        const after = await cluster.find(appliedKind(object).resource, { name, namespace });
        return after !== undefined && after.metadata.uid !== before?.metadata.uid;
      });
    }
  });

  it("brings back its own records with the same range", async () => {
    const before = await cluster.find(POOLS, { name: "default" });
    for (const name of [APPLIED_CONFIG_MAP, INVENTORY_CONFIG_MAP]) {
      await cluster.admin.delete(RESOURCES.configMaps, { name, namespace: NAMESPACE });
      await cluster.until(() => cluster.isThere(RESOURCES.configMaps, { name, namespace: NAMESPACE }));
    }
    await wake(cluster);
    expect((await cluster.find(POOLS, { name: "default" }))?.spec).toEqual(before?.spec);
  });

  it("knows its own workloads without the inventory: repairs them instead of making them anew", async () => {
    await cluster.stop();
    const before = await cluster.find(RESOURCES.deployments, MANAGER);
    const body = { metadata: { labels: { neighbours: "yes" } }, spec: { replicas: 5 } };
    await cluster.admin.patch(RESOURCES.deployments, MANAGER, { type: "merge", body });
    await cluster.admin.delete(RESOURCES.configMaps, { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE });
    cluster.start();
    await cluster.until(async () => (await cluster.find(RESOURCES.deployments, MANAGER))?.spec?.replicas === 2);
    const after = await cluster.find(RESOURCES.deployments, MANAGER);
    expect(after?.metadata).toMatchObject({ uid: before?.metadata.uid, labels: { neighbours: "yes" } });
  });

  it("repairs its own fields at once and leaves those of others", async () => {
    const spec = { replicas: 7, template: { spec: { serviceAccountName: "default" } } };
    const body = { metadata: { labels: { theirs: "yes", app: "not-theirs" } }, spec };
    await cluster.admin.patch(RESOURCES.deployments, MANAGER, { type: "merge", body });
    await cluster.until(async () => {
      const live = await cluster.find(RESOURCES.deployments, MANAGER);
      return live?.spec?.template.spec?.serviceAccountName === "kubemacpool-sa" && live.spec.replicas === 2;
    });
    const live = await cluster.find(RESOURCES.deployments, MANAGER);
    expect(live?.metadata.labels).toMatchObject({ theirs: "yes", app: "kubemacpool" });
  });

  it("repairs rights that somebody widened", async () => {
    const ops = [{ op: "add" as const, path: "/rules/-", value: { apiGroups: ["*"], resources: ["*"], verbs: ["*"] } }];
    const ref = { name: "bridge-marker-cr" };
    const { rules } = await cluster.admin.get(RESOURCES.clusterRoles, ref);
    await cluster.admin.patch(RESOURCES.clusterRoles, ref, { type: "json", ops });
    await cluster.until(async () => {
      const role = await cluster.find(RESOURCES.clusterRoles, ref);
      return role?.rules?.length === rules?.length;
    });
  });

  it("never touches the pool's certificates: neither the data of Secrets nor a caBundle", async () => {
    const secret = { name: "kubemacpool-service", namespace: NAMESPACE };
    const data = { "tls.crt": btoa("certificate"), "tls.key": btoa("key") };
    await cluster.admin.patch(RESOURCES.secrets, secret, { type: "merge", body: { data } });
    const ops = [0, 1, 2].map((index) => ({
      op: "add" as const,
      path: `/webhooks/${index}/clientConfig/caBundle`,
      value: btoa("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
    }));
    const hook = await cluster.admin.patch(RESOURCES.mutatingWebhookConfigurations, MUTATOR, { type: "json", ops });
    const timeout = [{ op: "replace" as const, path: "/webhooks/0/timeoutSeconds", value: 3 }];
    await cluster.admin.patch(RESOURCES.mutatingWebhookConfigurations, MUTATOR, { type: "json", ops: timeout });
    await cluster.until(async () => {
      const live = await cluster.find(RESOURCES.mutatingWebhookConfigurations, MUTATOR);
      return live?.webhooks?.[0]?.timeoutSeconds === 10;
    });
    const live = await cluster.find(RESOURCES.mutatingWebhookConfigurations, MUTATOR);
    expect(live?.webhooks?.map(({ clientConfig }) => clientConfig.caBundle)).toEqual(
      hook.webhooks?.map(({ clientConfig }) => clientConfig.caBundle),
    );
    expect((await cluster.find(RESOURCES.secrets, secret))?.data).toEqual(data);
  });

  it("sets only the ranges of the pool, and sets them again", async () => {
    const body = {
      spec: { conflictPolicy: "Warn", ranges: [{ start: "02:00:00:00:00:00", end: "02:00:00:00:00:01" }] },
    };
    await cluster.admin.patch(POOLS, { name: "default" }, { type: "merge", body });
    await cluster.until(async () => {
      const pool = await cluster.find(POOLS, { name: "default" });
      return pool?.spec.ranges[0]?.end.endsWith(":ff:ff:ff") === true;
    });
    expect((await cluster.find(POOLS, { name: "default" }))?.spec.conflictPolicy).toBe("Warn");
  });

  it("stays available while the operator is replaced", async () => {
    await cluster.rollOutUntilAvailable();
    await cluster.stop();
    const before = await cluster.config();
    cluster.client.writes.length = 0;
    cluster.start();
    await wake(cluster);
    expect(cluster.client.writes.filter((write) => !write.includes("Lease"))).toEqual([]);
    expect((await cluster.config())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });

  it("refuses what would break what runs, and recovers when it is taken back", async () => {
    await cluster.applyConfig({ ...BOTH, imagePullPolicy: "Always" });
    await cluster.until(async () => (await cluster.condition("Degraded")) === "True");
    const conditions = (await cluster.config())?.status?.conditions;
    expect(conditions?.find(({ type }) => type === "Degraded")).toMatchObject({
      reason: "FailedToGetPreviousConfigSpec",
      message:
        "not applying unsafe change: invalid configuration:\n" +
        "cannot modify ImagePullPolicy configuration once components were deployed",
    });
    expect(await cluster.isThere(RESOURCES.daemonSets, MARKER)).toBe(true);
    await cluster.until(async () => (await reasons()).includes("Failed: FailedToGetPreviousConfigSpec"));
    await cluster.kubectl(["delete", "--wait=false", "nac", "other", "--ignore-not-found"]);
    const ops = [{ op: "remove" as const, path: "/spec/imagePullPolicy" }];
    await cluster.admin.patch(CONFIGS, { name: "cluster" }, { type: "json", ops });
    await cluster.until(async () => (await cluster.condition("Degraded")) === "False");
    await cluster.rollOutUntilAvailable();
  });

  it("follows a change of the range while it runs", async () => {
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: RANGE });
    await cluster.until(async () => {
      const pool = await cluster.find(POOLS, { name: "default" });
      return pool?.spec.ranges[0]?.start === RANGE.rangeStart;
    });
    await cluster.rollOutUntilAvailable();
  });

  it("gives the installer the former CNI directory until every pod has cleaned it", async () => {
    const directories = async (): Promise<(string | undefined)[]> => {
      const installer = await cluster.find(RESOURCES.daemonSets, {
        name: LINUX_BRIDGE_DAEMON_SET,
        namespace: NAMESPACE,
      });
      const volumes = installer?.spec?.template.spec?.volumes ?? [];
      return volumes.filter(({ name }) => name.includes("cni-bin")).map(({ hostPath }) => hostPath?.path);
    };
    await cluster.applyConfig({ linuxBridge: { cniBinDir: "/var/lib/cni/bin" }, kubeMacPool: RANGE });
    await cluster.until(async () => (await directories())[0] === "/var/lib/cni/bin");
    expect(await directories()).toEqual(["/var/lib/cni/bin", "/opt/cni/bin"]);
    await cluster.until(async () => {
      await cluster.rollOut();
      return (await directories()).length === 1;
    });
    expect(await directories()).toEqual(["/var/lib/cni/bin"]);
    await cluster.rollOutUntilAvailable();
  });

  it("was never refused anything", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
