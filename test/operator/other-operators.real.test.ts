import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import type { NetworkAddonsCondition } from "../../src/api/network-addons-config.ts";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { account, grantRules } from "../support/rights.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { formerOperator, formerPool, leave, RANGE } from "./support/predecessor.ts";

const THEIRS = "kubevirt-hyperconverged";
/** Before ours in the alphabet: of two Leases of one second that decides. */
const OLDER = "another-installation";
const YOUNGER = "yet-another-installation";
const TENANT = "tenant";
const POOL_NAMESPACE = "kubemacpool-system";
const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const POOL_MANAGER = { name: "kubemacpool-mac-controller-manager", namespace: POOL_NAMESPACE };
const POOLS: Resource<MACPool> = MAC_POOLS;
const CONFIG = { name: "cluster" };

/** One story: the tests follow each other on one cluster. */
describe("beside another operator, this one", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    for (const name of [THEIRS, OLDER, YOUNGER, TENANT, POOL_NAMESPACE]) {
      await cluster.admin.create(RESOURCES.namespaces, { metadata: { name } });
    }
    await mayReport([THEIRS, OLDER, YOUNGER]);
    await cluster.admin.create(RESOURCES.deployments, formerOperator(TENANT));
    await cluster.admin.create(RESOURCES.deployments, formerOperator(THEIRS));
    await cluster.admin.create(RESOURCES.leases, { metadata: { name: OPERATOR_NAME, namespace: OLDER }, spec: {} });
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {} });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function mayReport(namespaces: readonly string[]): Promise<void> {
    const rules = [{ apiGroups: [CONFIGS.group], resources: ["networkaddonsconfigs/status"], verbs: ["patch"] }];
    const theirs = namespaces.map((namespace) => account(OPERATOR_NAME, namespace));
    await grantRules(cluster.admin, theirs, rules, { name: "theirs" });
  }

  const conditions = async (): Promise<Record<string, NetworkAddonsCondition>> =>
    Object.fromEntries(((await cluster.config())?.status?.conditions ?? []).map((one) => [one.type, one]));
  const standing = async (): Promise<string | undefined> => (await conditions()).StandingBack?.message;
  const scale = (replicas: number, ref = { name: OPERATOR_NAME, namespace: THEIRS }) =>
    cluster.admin.patch(RESOURCES.deployments, ref, { type: "merge", body: { spec: { replicas } } });
  const wrote = () => [...new Set(cluster.client.writes)];

  async function reasons(): Promise<string[]> {
    const { items } = await cluster.admin.list(RESOURCES.events, { namespace: "default" });
    return items.filter(({ regarding }) => regarding?.kind === "NetworkAddonsConfig").map(({ reason = "" }) => reason);
  }

  async function rounds(): Promise<number> {
    const text = await cluster.metrics.metrics();
    const counts = text.matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Makes it look again, and waits until it has. */
  async function wake(): Promise<void> {
    const before = await rounds();
    const body = { metadata: { labels: { woken: String(before) } } };
    await cluster.admin.patch(CONFIGS, CONFIG, { type: "merge", body });
    await cluster.until(async () => (await rounds()) > before);
  }

  async function untilInCharge(): Promise<void> {
    await cluster.until(async () => (await standing()) === undefined && cluster.isThere(RESOURCES.daemonSets, MARKER));
    await cluster.rollOutUntilAvailable();
  }

  async function repairs(): Promise<void> {
    const before = await cluster.find(RESOURCES.daemonSets, MARKER);
    await cluster.admin.delete(RESOURCES.daemonSets, MARKER);
    await cluster.until(async () => {
      const after = await cluster.find(RESOURCES.daemonSets, MARKER);
      return after !== undefined && after.metadata.uid !== before?.metadata.uid;
    });
  }

  it("stands back, says for whom, and changes nothing else", async () => {
    await expect.poll(standing).toContain(`Deployment ${THEIRS}/${OPERATOR_NAME} belongs to another operator`);
    const { StandingBack, Degraded, Progressing, Available } = await conditions();
    expect(StandingBack).toMatchObject({ status: "True", reason: "AnotherOperator" });
    expect(Degraded).toMatchObject({ status: "True", reason: "AnotherOperator", message: StandingBack?.message });
    expect([Progressing?.status, Available?.status]).toEqual(["False", "False"]);
    await expect.poll(reasons).toEqual(["StandingBack"]);
    await wake();
    expect(cluster.client.writes).toEqual(["patch NetworkAddonsConfig cluster"]);
    expect((await cluster.config())?.metadata.finalizers).toBeUndefined();
  });

  it("leaves the three conditions to who is in charge", async () => {
    const own = (await conditions()).StandingBack;
    const times = { lastTransitionTime: "2026-01-01T00:00:00Z", lastHeartbeatTime: "2026-01-01T00:00:00Z" };
    const theirs = [
      { type: "Available", status: "True", ...times },
      { type: "Progressing", status: "False", ...times },
      { type: "Degraded", status: "False", ...times },
    ];
    const status = { operatorVersion: "0.102.0", conditions: [own, ...theirs] };
    const patch = { type: "merge" as const, body: { status } };
    await cluster.admin.patch(CONFIGS, CONFIG, patch, { subresource: "status" });
    await wake();
    const after = (await cluster.config())?.status;
    expect(after).toMatchObject({ operatorVersion: "0.102.0", conditions: [own, ...theirs] });
    expect(cluster.client.writes).toEqual(["patch NetworkAddonsConfig cluster"]);
  });

  it("takes over by itself when that one has no pods any more, whatever a tenant calls a Deployment", async () => {
    await scale(0);
    await untilInCharge();
    expect(await cluster.isThere(RESOURCES.deployments, { name: OPERATOR_NAME, namespace: TENANT })).toBe(true);
    expect((await cluster.config())?.metadata.finalizers).toHaveLength(1);
    await expect.poll(reasons).toContain("TakingOver");
    expect(await cluster.condition("Degraded")).toBe("False");
  });

  it("does not fight when somebody scales it up again", async () => {
    await scale(1);
    await expect.poll(standing).toContain(`Deployment ${THEIRS}/${OPERATOR_NAME}`);
    expect((await conditions()).Degraded).toMatchObject({ status: "True", reason: "AnotherOperator" });
    expect(await cluster.condition("Available")).toBe("True");
    cluster.client.writes.length = 0;
    await cluster.admin.delete(RESOURCES.daemonSets, MARKER);
    await wake();
    expect(await cluster.isThere(RESOURCES.daemonSets, MARKER)).toBe(false);
    expect(wrote()).toEqual([]);
    await cluster.admin.delete(RESOURCES.deployments, { name: OPERATOR_NAME, namespace: THEIRS });
    await untilInCharge();
  });

  it("waits for the last pod of a predecessor that had its very name, and not for its own", async () => {
    const pod = (name: string, command: string[]): KubeObject => ({
      metadata: { name, namespace: NAMESPACE, labels: { name: OPERATOR_NAME } },
      spec: { serviceAccountName: OPERATOR_NAME, containers: [{ name: OPERATOR_NAME, image: "image", command }] },
    });
    const create = (object: KubeObject) => cluster.admin.create(RESOURCES.pods as Resource<KubeObject>, object);
    await create(pod("operator-of-an-older-version", ["/nodejs/bin/node", "/app/src/operator/main.js"]));
    await repairs();
    await create(pod("former-operator", []));
    await expect.poll(standing).toContain(`Pod ${NAMESPACE}/former-operator`);
    const now = { gracePeriodSeconds: 0 };
    await cluster.admin.delete(RESOURCES.pods, { name: "former-operator", namespace: NAMESPACE }, now);
    await untilInCharge();
  });

  it("stands back for an older Lease as long as it is renewed, whatever times that writes", async () => {
    let renewals = 0;
    const renew = (namespace: string, leaseDurationSeconds: number) => {
      const renewTime = `2020-01-01T00:00:00.${String(++renewals).padStart(6, "0")}Z`;
      const spec = { holderIdentity: "other-1", leaseDurationSeconds, renewTime };
      const ref = { name: OPERATOR_NAME, namespace };
      return cluster.admin.patch(RESOURCES.leases, ref, { type: "merge", body: { spec } });
    };
    await cluster.admin.create(RESOURCES.leases, { metadata: { name: OPERATOR_NAME, namespace: YOUNGER }, spec: {} });
    for (const _ of [1, 2]) await renew(YOUNGER, 600);
    await repairs();
    await cluster.until(async () => {
      await renew(OLDER, 2);
      return (await standing())?.startsWith(`Lease ${OLDER}/${OPERATOR_NAME} of other-1`) === true;
    });
    await untilInCharge();
  });

  it("leaves the MAC pool to a KubeMacPool that serves, and takes its range over when that is gone", async () => {
    await leave(cluster.admin, formerPool(POOL_NAMESPACE));
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
    await expect
      .poll(async () => (await cluster.config())?.status?.components)
      .toEqual([
        { name: "linuxBridge", phase: "Available", hostPaths: ["/opt/cni/bin"] },
        {
          name: "kubeMacPool",
          phase: "Degraded",
          reason: "AnotherOperator",
          message: expect.stringContaining(`Deployment ${POOL_NAMESPACE}/${POOL_MANAGER.name} is alive`),
        },
      ]);
    expect(await cluster.isThere(RESOURCES.deployments, { ...POOL_MANAGER, namespace: NAMESPACE })).toBe(false);
    await repairs();
    await scale(0, POOL_MANAGER);
    await cluster.rollOutUntilAvailable();
    const pool = await cluster.find(POOLS, { name: "default" });
    expect(pool?.spec.ranges).toEqual([{ start: RANGE.rangeStart, end: RANGE.rangeEnd }]);
    const mutator = await cluster.find(RESOURCES.mutatingWebhookConfigurations, { name: "kubemacpool-mutator" });
    expect(new Set(mutator?.webhooks?.map(({ clientConfig }) => clientConfig.service?.namespace))).toEqual(
      new Set([NAMESPACE]),
    );
  });

  it("was never refused a look", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
