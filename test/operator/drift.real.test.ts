import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { HostileWebhook } from "./sequences/hostile-webhook.ts";
import { DRIFT_EDITS } from "./support/drift-edits.ts";
import { CERT_MANAGER_CRDS } from "./support/external-kinds.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

/** Without what the API server and others may write without a change of meaning. */
function meaning({ apiVersion, kind, metadata, status, ...rest }: KubeObject): object {
  return { ...rest, labels: metadata.labels, owners: metadata.ownerReferences };
}

describe("the operator, when others edit what it applied", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.addNode("node-a");
    await cluster.addNode("node-b");
    for (const definition of CERT_MANAGER_CRDS) await cluster.admin.create(RESOURCES.crds, definition);
    cluster.start(DEFAULT_SETTINGS);
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {}, kubevirtIpamController: {} });
    await cluster.rollOutUntilAvailable();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  for (const { resource, name, edits } of DRIFT_EDITS) {
    const ref = resource.namespaced ? { name, namespace: NAMESPACE } : { name };
    for (const [edit, ops] of Object.entries(edits)) {
      it(`${resource.kind} ${name}: takes back ${edit}`, async () => {
        const before = meaning(await cluster.admin.get(resource, ref));
        const edited = await cluster.admin.patch(resource, ref, { type: "json", ops });
        expect(meaning(edited)).not.toEqual(before);
        await expect.poll(async () => meaning(await cluster.admin.get(resource, ref))).toEqual(before);
      });
    }
  }

  it("takes back an edit of its labels, also of a Secret, and leaves the Secret's data", async () => {
    const ref = { name: "kubemacpool-service", namespace: NAMESPACE };
    const data = { "tls.crt": btoa("certificate"), "tls.key": btoa("key") };
    const labels = { "app.kubernetes.io/component": "theirs", theirs: "yes" };
    await cluster.admin.patch(RESOURCES.secrets, ref, { type: "merge", body: { data, metadata: { labels } } });
    const component = async () => (await cluster.find(RESOURCES.secrets, ref))?.metadata.labels;
    await expect.poll(component).toMatchObject({ "app.kubernetes.io/component": "network", theirs: "yes" });
    expect((await cluster.find(RESOURCES.secrets, ref))?.data).toEqual(data);
  });

  it("leaves what does no harm while it takes back the rest", async () => {
    const ref = { name: "linux-bridge-webhook", namespace: NAMESPACE };
    const restarted = { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" };
    const template = { metadata: { annotations: restarted }, spec: { nodeSelector: { theirs: "yes" } } };
    const metadata = { labels: { theirs: "yes" }, annotations: { theirs: "yes" } };
    await cluster.admin.patch(RESOURCES.deployments, ref, { type: "merge", body: { metadata, spec: { template } } });
    const live = () => cluster.find(RESOURCES.deployments, ref);
    await expect.poll(async () => (await live())?.spec?.template.spec?.nodeSelector).toBeUndefined();
    expect(await live()).toMatchObject({ metadata, spec: { template: { metadata: { annotations: restarted } } } });
  });

  it("slows down where another writer never gives up, and says who and where", async () => {
    const ref = { name: "linux-bridge-webhook", namespace: NAMESPACE };
    const field = "spec.template.spec.nodeSelector.stubborn";
    const body = { spec: { template: { spec: { nodeSelector: { stubborn: "yes" } } } } };
    const isEdited = async () =>
      (await cluster.find(RESOURCES.deployments, ref))?.spec?.template.spec?.nodeSelector?.stubborn === "yes";
    cluster.client.writes.length = 0;
    const degraded = async () => {
      if (!(await isEdited())) {
        await cluster.admin.patch(RESOURCES.deployments, ref, { type: "merge", body }, { fieldManager: "stubborn" });
      }
      return (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded");
    };
    await expect.poll(degraded).toMatchObject({
      status: "True",
      reason: "FailedToApply",
      message: expect.stringContaining(
        `Deployment ${NAMESPACE}/linux-bridge-webhook: stubborn keeps changing ${field}; it is set again once a minute`,
      ),
    });
    const rounds = cluster.client.writes.filter((write) => write === "update Deployment linux-bridge-webhook");
    expect(rounds).toHaveLength(5);
    const rows = (await cluster.config())?.status?.components;
    expect(rows?.find(({ name }) => name === "linuxBridge")?.message).toContain("stubborn keeps changing");
    expect(rows?.find(({ name }) => name === "kubeMacPool")?.phase).not.toBe("Degraded");
  });

  it("takes back an edit that falls between its look and its write", async () => {
    const ref = { name: "kubemacpool-cert-manager", namespace: NAMESPACE };
    const nodeSelector = async () =>
      (await cluster.find(RESOURCES.deployments, ref))?.spec?.template.spec?.nodeSelector?.late;
    const edit = (late: string) => {
      const body = { spec: { template: { spec: { nodeSelector: { late } } } } };
      return cluster.admin.patch(RESOURCES.deployments, ref, { type: "merge", body });
    };
    const { update } = cluster.client;
    let edited = false;
    cluster.client.update = async (resource, object, options) => {
      if (!edited && !options?.dryRun) {
        edited = true;
        await edit("second");
      }
      return update(resource, object, options);
    };
    await edit("first");
    await expect.poll(async () => edited && (await nodeSelector()) === undefined).toBe(true);
    cluster.client.update = update;
  });

  it("says that a webhook of others changes what it writes, and puts it right without the webhook", async () => {
    const ref = { name: "bridge-marker", namespace: NAMESPACE };
    const image = async () =>
      (await cluster.find(RESOURCES.daemonSets, ref))?.spec?.template.spec?.containers[0]?.image;
    const before = await image();
    {
      await using _ = await HostileWebhook.install(cluster, "changes");
      await cluster.admin.delete(RESOURCES.daemonSets, ref);
      const degraded = async () =>
        (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded")?.message;
      await expect
        .poll(degraded)
        .toMatch(/DaemonSet .*\/bridge-marker.*changed spec\.template\.spec\.containers\.0\.image again at once/);
      expect(await image()).toBe("hostile");
    }
    await cluster.stop();
    cluster.start(DEFAULT_SETTINGS);
    await expect.poll(image).toBe(before);
    await cluster.rollOutUntilAvailable();
  });

  it("takes back an aggregation that came before its record of the role", async () => {
    const ref = { name: "bridge-marker-cr" };
    const rule = { clusterRoleSelectors: [{ matchLabels: { theirs: "yes" } }] };
    const role = async () =>
      (await cluster.find(RESOURCES.clusterRoles, ref)) ?? { metadata: {}, aggregationRule: rule };
    await cluster.stop();
    await cluster.admin.delete(RESOURCES.configMaps, { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE });
    const body = { aggregationRule: rule };
    await cluster.admin.patch(RESOURCES.clusterRoles, ref, { type: "merge", body });
    const warned = cluster.warnings.length;
    cluster.start(DEFAULT_SETTINGS);
    await expect.poll(async () => (await role()).aggregationRule).toBeUndefined();
    cluster.warnings.splice(warned);
  });

  it("was never refused anything", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
