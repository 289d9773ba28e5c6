import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { APPLIED_CONFIG_MAP } from "../../src/api/names.ts";
import type { MutatingWebhookConfiguration } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { Informer } from "../../src/kube/informer/informer.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { idleWrites } from "./support/idle-writes.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { formerObjects, leave, RANGE } from "./support/predecessor.ts";

const MANAGER = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
const CERT_MANAGER = { name: "kubemacpool-cert-manager", namespace: NAMESPACE };
const INJECTOR = { name: "linux-bridge-webhook", namespace: NAMESPACE };
const MUTATOR = { name: "kubemacpool-mutator" };
const SERVING = { name: "kubemacpool-service", namespace: NAMESPACE };
const POOLS: Resource<MACPool> = MAC_POOLS;

const FORMER = formerObjects(NAMESPACE);
const refOf = ({ metadata: { name = "", namespace } }: KubeObject) => ({ name, namespace });

/** What the API server would have called at any time. Undefined: nothing. */
async function record(cluster: InstalledOperator, signal: AbortSignal): Promise<(string[] | undefined)[]> {
  const seen: (string[] | undefined)[] = [];
  const note = ({ webhooks = [] }: MutatingWebhookConfiguration) => seen.push(webhooks.map(({ name }) => name));
  const informer = new Informer<MutatingWebhookConfiguration>({
    client: cluster.admin,
    resource: RESOURCES.mutatingWebhookConfigurations,
    fieldSelector: `metadata.name=${MUTATOR.name}`,
    metrics: new Registry(),
  });
  informer.on({ add: note, update: note, delete: () => seen.push(undefined) });
  informer.start(signal);
  await informer.whenSynced(signal);
  return seen;
}

/** One story: the tests follow each other on one cluster. */
describe("the operator on a cluster that Cluster Network Addons Operator ran", () => {
  let cluster: InstalledOperator;
  let called: (string[] | undefined)[];
  const stop = new AbortController();
  const before = new Map<string, string | undefined>();

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await leave(cluster.admin, FORMER);
    for (const [resource, object] of FORMER) {
      const live = await cluster.find(resource, refOf(object));
      before.set(`${resource.kind} ${object.metadata.name}`, live?.metadata.uid);
    }
    called = await record(cluster, stop.signal);
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
  });
  afterAll(async () => {
    stop.abort();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** A round in which the operator makes an object anew, and nothing else. */
  async function repairRound(): Promise<void> {
    const before = await cluster.find(RESOURCES.serviceAccounts, INJECTOR);
    await cluster.admin.delete(RESOURCES.serviceAccounts, INJECTOR);
    await cluster.until(async () => {
      const now = await cluster.find(RESOURCES.serviceAccounts, INJECTOR);
      return now !== undefined && now.metadata.uid !== before?.metadata.uid;
    });
  }

  /** The part of the garbage collector: what belonged to the Deployment belongs to nobody from then on. */
  async function orphan(ref: typeof MANAGER): Promise<void> {
    await cluster.until(async () => {
      const live = await cluster.find(RESOURCES.deployments, ref);
      if (live?.metadata.deletionTimestamp === undefined) return false;
      expect(live.metadata.finalizers).toEqual(["orphan"]);
      await cluster.admin.patch(RESOURCES.deployments, ref, {
        type: "merge",
        body: { metadata: { finalizers: null } },
      });
      return true;
    });
  }

  it("leaves the pods of a Deployment to its successor where the selector is another one", async () => {
    const pool = async () => (await cluster.config())?.status?.components?.find(({ name }) => name === "kubeMacPool");
    const waits = {
      phase: "Progressing",
      message: expect.stringContaining(
        `${MANAGER.name} waits until the one that was found, which has another selector, is deleted`,
      ),
    };
    await expect.poll(pool).toMatchObject(waits);
    // The status of the first of these rounds is written before the second one begins.
    for (let round = 0; round < 2; round++) await repairRound();
    expect(await pool()).toMatchObject(waits);
    await Promise.all([orphan(MANAGER), orphan(CERT_MANAGER)]);
    await cluster.until(async () => {
      const live = await cluster.find(RESOURCES.deployments, MANAGER);
      return live?.spec?.selector.matchLabels?.["controller-tools.k8s.io"] === undefined && live !== undefined;
    });
    const manager = await cluster.find(RESOURCES.deployments, MANAGER);
    const { containers = [], volumes = [] } = manager?.spec?.template.spec ?? {};
    expect(containers.map(({ name }) => name)).toEqual(["manager"]);
    expect(containers[0]?.image).toBe(DEFAULT_SETTINGS.images.kubeMacPool);
    expect(containers[0]?.args).toBeUndefined();
    expect(volumes).toEqual([]);
    expect(manager?.spec?.strategy).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
  });

  it("keeps the webhooks of the former pool until the new one serves", async () => {
    await cluster.until(async () => {
      const pool = (await cluster.config())?.status?.components?.find(({ name }) => name === "kubeMacPool");
      return pool?.message?.includes(`${MUTATOR.name} stays as it was found`) === true;
    });
    expect((await cluster.find(RESOURCES.mutatingWebhookConfigurations, MUTATOR))?.webhooks).toHaveLength(2);
    await cluster.rollOutUntilAvailable();
    const mutator = await cluster.find(RESOURCES.mutatingWebhookConfigurations, MUTATOR);
    const machines = mutator?.webhooks?.find(({ name }) => name === "mutatevirtualmachines.kubemacpool.io");
    expect(machines?.matchConditions?.map(({ name }) => name)).toEqual(["not-being-deleted", "interfaces-changed"]);
    expect(machines?.admissionReviewVersions).toEqual(["v1"]);
    expect(machines?.rules?.[0]?.apiVersions).toEqual(["v1"]);
    expect(mutator?.webhooks).toHaveLength(4);
  });

  it("leaves no moment in which a VM could be made without the pool", () => {
    expect(called.length).toBeGreaterThan(1);
    const gaps = called.filter((names) => !names?.includes("mutatevirtualmachines.kubemacpool.io"));
    expect(gaps).toEqual([]);
  });

  it("makes nothing anew but what the API server can't change", async () => {
    const anew: string[] = [];
    for (const [resource, object] of FORMER) {
      const key = `${resource.kind} ${object.metadata.name}`;
      if ((await cluster.find(resource, refOf(object)))?.metadata.uid !== before.get(key)) anew.push(key);
    }
    expect(anew).toEqual([`Deployment ${MANAGER.name}`, `Deployment ${CERT_MANAGER.name}`]);
  });

  it("rolls the daemons on the nodes in place, with nothing of the former ones left", async () => {
    for (const name of ["kube-cni-linux-bridge-plugin", "bridge-marker"]) {
      const daemon = await cluster.find(RESOURCES.daemonSets, { name, namespace: NAMESPACE });
      const { containers = [], volumes = [] } = daemon?.spec?.template.spec ?? {};
      expect(containers.map(({ image }) => image)).toEqual([DEFAULT_SETTINGS.images.linuxBridge]);
      expect(containers[0]?.command?.[0]).not.toBe("/bin/bash");
      expect(volumes.map((volume) => volume.name)).not.toContain("cnibin");
      expect(daemon?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable).toBe("10%");
    }
  });

  it("writes nothing more once everything is its own", async () => {
    expect(await idleWrites(cluster)).toEqual([]);
  });

  it("keeps the range and the lifetimes that were applied last, and the Secrets for their keeper", async () => {
    const pool = await cluster.find(POOLS, { name: "default" });
    expect(pool?.spec.ranges).toEqual([{ start: RANGE.rangeStart, end: RANGE.rangeEnd }]);
    const applied = await cluster.find(RESOURCES.configMaps, { name: APPLIED_CONFIG_MAP, namespace: NAMESPACE });
    expect(JSON.parse(applied?.data?.applied ?? "")).toMatchObject({
      kubeMacPool: RANGE,
      selfSignConfiguration: { caRotateInterval: "168h0m0s", certOverlapInterval: "8h0m0s" },
    });
    const serving = await cluster.find(RESOURCES.secrets as Resource<KubeObject>, SERVING);
    expect(serving?.data).toEqual({ "tls.crt": "b2xk", "tls.key": "b2xk" });
  });
});
