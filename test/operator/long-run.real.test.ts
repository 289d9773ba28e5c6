import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { of, type Request } from "../bench/cluster-requests.ts";
import { eventually } from "../support/eventually.ts";
import { Truth } from "./sequences/truth.ts";
import { type InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { isWrite, OperatorHarness } from "./support/operator-harness.ts";

const IDLE_SECONDS = Number(process.env.OPERATOR_IDLE_SECONDS ?? 10);
/** Of a kind that is not served. */
const FEW_LOOKS = 4;
/** Between two looks for an absent kind, at last. */
const LOOK_SECONDS = 30;
/** More versions than an API server that starts gives out by itself. */
const LOST_WRITES = 400;
const LIMIT_MS = 60_000;

const POOLS: Resource<MACPool> = MAC_POOLS;
const POOL = { name: "default" };
const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" };
const NEWER = { ...DEFAULT_SETTINGS, version: "0.99.0" };
const MARKER = { name: "bridge-marker", namespace: NAMESPACE };

/** One story: the tests follow each other on one cluster. */
describe("an operator that runs for long", { timeout: (IDLE_SECONDS + 240) * 1000 }, () => {
  let harness: OperatorHarness;
  let cluster: InstalledOperator;

  beforeAll(async () => {
    harness = await OperatorHarness.start();
    cluster = harness.cluster;
    cluster.start(DEFAULT_SETTINGS);
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  async function configure(spec: object): Promise<void> {
    expect(await cluster.applyConfig(spec)).toMatchObject({ code: 0 });
    await new Truth(cluster).comes(LIMIT_MS);
  }

  const asked = async (): Promise<Request[]> => of(await harness.requests.next(), OPERATOR_NAME);

  /** What it asks for in that time, from when it has come to rest. */
  async function whileIdle(): Promise<Request[]> {
    await eventually("nothing was written for a second", async () => {
      await asked();
      await sleep(1_000);
      return !(await asked()).some(isWrite);
    });
    await sleep(IDLE_SECONDS * 1_000);
    return await asked();
  }

  /** UIDs of its pods. */
  async function podsOf(name: string): Promise<(string | undefined)[]> {
    const { items } = await cluster.admin.list(RESOURCES.pods, { namespace: NAMESPACE });
    return items
      .filter(({ metadata }) => metadata.name?.startsWith(`${name}-`))
      .map(({ metadata }) => metadata.uid)
      .sort();
  }

  it("writes nothing while idle, and hardly asks for a kind that nobody defined", async () => {
    await configure({ linuxBridge: {} });
    const requests = await whileIdle();
    expect(requests.some(({ what }) => what === "update leases")).toBe(true);
    expect(requests.filter(isWrite)).toEqual([]);
    expect(requests.filter(({ what }) => what === "list macpools").length).toBeLessThanOrEqual(
      FEW_LOOKS + IDLE_SECONDS / LOOK_SECONDS,
    );
  });

  it("watches that kind as soon as it is defined", async () => {
    await configure({ linuxBridge: {}, kubeMacPool: RANGE });
    const ranges = async () => (await cluster.find(POOLS, POOL))?.spec.ranges;
    const before = await ranges();
    const body = { spec: { ranges: [{ start: "06:00:00:00:00:00", end: "06:00:00:00:00:ff" }] } };
    await cluster.admin.patch(POOLS, POOL, { type: "merge", body });
    await expect.poll(ranges).toEqual(before);
  });

  it("ends when etcd goes to an older state, and follows it when it is started anew", async () => {
    const spec = { linuxBridge: {}, kubeMacPool: RANGE, ovs: {} };
    await cluster.applyConfig(spec);
    await eventually("it is available", () => isAvailable());
    await harness.controlPlane.saveEtcd();

    for (let write = 0; write < LOST_WRITES; write++) {
      const body = { metadata: { annotations: { lost: String(write) } } };
      await cluster.admin.patch(RESOURCES.namespaces, { name: NAMESPACE }, { type: "merge", body });
    }
    await cluster.applyConfig({ linuxBridge: { bridgeMarkerHealthPort: 0 }, multus: {} });
    await eventually("it is available", () => isAvailable());

    await harness.controlPlane.restoreEtcd();
    await eventually("the older configuration is back", async () => (await cluster.config())?.spec?.ovs !== undefined);
    const ref = { name: "bridge-marker-cr" };
    await cluster.admin.delete(RESOURCES.clusterRoles, ref);
    await eventually("a right is back", () => cluster.isThere(RESOURCES.clusterRoles, ref), { limitMs: LIMIT_MS });
    await cluster.applyConfig({ ...spec, kubeSecondaryDNS: {} });
    await eventually("it is available", () => isAvailable(), { limitMs: LIMIT_MS });
    await new Truth(cluster).comes(LIMIT_MS);
    expect(cluster.restarts).toBe(1);
  });

  async function isAvailable(): Promise<boolean> {
    const { metadata, status } = (await cluster.config()) ?? {};
    return status?.observedGeneration === metadata?.generation && (await cluster.condition("Available")) === "True";
  }

  /** None of what the restore took back is still going. */
  async function hasWantedPodsOnly(): Promise<boolean> {
    const inNamespace = { namespace: NAMESPACE };
    const { items: daemonSets } = await cluster.admin.list(RESOURCES.daemonSets, inNamespace);
    const { items: deployments } = await cluster.admin.list(RESOURCES.deployments, inNamespace);
    const { items: pods } = await cluster.admin.list(RESOURCES.pods, inNamespace);
    const wanted = [
      ...daemonSets.map(({ status }) => status?.desiredNumberScheduled ?? 0),
      ...deployments.map(({ spec }) => spec?.replicas ?? 0),
    ];
    return pods.length === wanted.reduce((sum, replicas) => sum + replicas, 0);
  }

  it("restarts no pod for a newer version of itself, and none for the older one again", async () => {
    await eventually("only the wanted pods are there", hasWantedPodsOnly, { limitMs: LIMIT_MS });
    const { items: before } = await cluster.admin.list(RESOURCES.pods, { namespace: NAMESPACE });
    for (const settings of [NEWER, DEFAULT_SETTINGS]) {
      await cluster.stop();
      cluster.start(settings);
      await eventually(`${settings.version} is available`, async () => {
        const status = (await cluster.config())?.status;
        return status?.observedVersion === settings.version && (await cluster.condition("Available")) === "True";
      });
    }
    const { items: after } = await cluster.admin.list(RESOURCES.pods, { namespace: NAMESPACE });
    const uids = (pods: typeof before) => pods.map(({ metadata }) => metadata.uid).sort();
    expect(uids(after)).toEqual(uids(before));
  });

  it("restarts only the pods of what is new in a newer version", async () => {
    const [marker, plugins] = [await podsOf("bridge-marker"), await podsOf("kube-cni-linux-bridge-plugin")];
    expect(plugins).not.toEqual([]);
    await cluster.stop();
    cluster.start({ ...NEWER, images: { ...NEWER.images, bridgeMarker: "registry.example.com/marker:2" } });
    await eventually("the marker is replaced", async () => {
      const pods = await podsOf("bridge-marker");
      return pods.length === marker.length && pods.every((uid) => !marker.includes(uid));
    });
    expect(await podsOf("kube-cni-linux-bridge-plugin")).toEqual(plugins);
    await cluster.stop();
    cluster.start(DEFAULT_SETTINGS);
    const image = async () => (await cluster.find(RESOURCES.daemonSets, MARKER))?.spec?.template.spec?.containers[0];
    await expect.poll(async () => (await image())?.image).toBe(DEFAULT_SETTINGS.images.bridgeMarker);
  });
});
