import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LABEL_MANAGED_BY, LINUX_BRIDGE_DAEMON_SET } from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { CONFIGS, InstalledOperator, NAMESPACE, WITHIN } from "./support/installed-operator.ts";
import { podsLike } from "./support/pods-like.ts";

interface OtherWriter {
  readonly resource: Resource;
  readonly name: string;
  /** Of the status. */
  readonly row: string;
  readonly says: string;
  /** Undefined: the other one deletes the object. */
  readonly theirs?: { readonly manager: string; readonly body: object };
  /** Whether the object is as the other one wants it. */
  readonly isTheirs: (live: KubeObject | undefined) => boolean;
  /** Of the operator, in one round. */
  readonly writes?: number;
}

const HIDDEN = `keeps deleting it or its label ${LABEL_MANAGED_BY}; it is applied again once a minute`;
const LABELED = { metadata: { labels: { [LABEL_MANAGED_BY]: "Helm" } } };

/** More often than anybody may delete an object before it is reported. */
const SWITCHES = 6;

const OTHER_WRITERS: Readonly<Record<string, OtherWriter>> = {
  "takes a label away": {
    resource: RESOURCES.configMaps,
    name: "kubemacpool-mac-range-config",
    row: "kubeMacPool",
    says: `helm ${HIDDEN}`,
    theirs: { manager: "helm", body: LABELED },
    isTheirs: (live) => live?.metadata.labels?.[LABEL_MANAGED_BY] === "Helm",
  },
  "deletes an object": {
    resource: RESOURCES.serviceAccounts,
    name: "bridge-marker",
    row: "linuxBridge",
    says: `another writer ${HIDDEN}`,
    isTheirs: (live) => live === undefined,
  },
  "edits a definition": {
    resource: RESOURCES.crds,
    name: "macpools.macpool.network.kubevirt.io",
    row: "kubeMacPool",
    says: "stubborn keeps changing spec.names.shortNames.0; it is set again once a minute",
    theirs: { manager: "stubborn", body: { spec: { names: { shortNames: ["theirs"] } } } },
    isTheirs: (live) => JSON.stringify(live?.spec).includes('"shortNames":["theirs"]'),
  },
  "empties the inventory": {
    resource: RESOURCES.configMaps,
    name: INVENTORY_CONFIG_MAP,
    row: "records",
    says: "stubborn keeps changing data.objects; it is set again once a minute",
    theirs: { manager: "stubborn", body: { data: { objects: "[]" } } },
    isTheirs: (live) => JSON.stringify(live?.data) === '{"objects":"[]"}',
    writes: 2,
  },
};

describe("the operator, when somebody undoes again and again what it applies", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
    await cluster.rollOutUntilAvailable();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function meddle({ resource, name, theirs, isTheirs }: OtherWriter): Promise<void> {
    const ref = resource.namespaced ? { name, namespace: NAMESPACE } : { name };
    if (isTheirs(await cluster.find(resource, ref))) return;
    if (theirs === undefined) await cluster.admin.delete(resource, ref);
    else {
      const patch = { type: "merge" as const, body: theirs.body };
      await cluster.admin.patch(resource, ref, patch, { fieldManager: theirs.manager });
    }
  }

  async function reconciles(): Promise<number> {
    const counts = (await cluster.metrics.metrics()).matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** After two more reconciles, of which one begins after the call. */
  async function reconcileTwice(): Promise<void> {
    const before = await reconciles();
    let count = 0;
    const annotated = async () => {
      const body = { metadata: { annotations: { count: `${count++}` } } };
      await cluster.admin.patch(CONFIGS, { name: "cluster" }, { type: "merge", body });
      return reconciles();
    };
    await expect.poll(annotated, WITHIN).toBeGreaterThanOrEqual(before + 2);
  }

  async function eventsAbout(message: string): Promise<readonly (number | undefined)[]> {
    const { items } = await cluster.admin.list(RESOURCES.events, { namespace: "default" });
    const about = items.filter(({ reason, note }) => reason === "AnotherWriter" && note === message);
    return about.map(({ series }) => series?.count ?? 1);
  }

  it.each(Object.entries(OTHER_WRITERS))("slows down where another one %s, and says so", async (_, other) => {
    const { resource, name, row, says, writes = 1 } = other;
    const written = () => cluster.client.writes.filter((write) => write === `apply ${resource.kind} ${name}`);
    cluster.client.writes.length = 0;
    const message = `${resource.kind} ${resource.namespaced ? `${NAMESPACE}/${name}` : name}: ${says}`;
    const reported = async () => {
      await meddle(other);
      return (await cluster.config())?.status?.components?.find((component) => component.name === row)?.message;
    };
    await expect.poll(reported, WITHIN).toContain(message);
    expect(written().length).toBeGreaterThanOrEqual(5);
    expect(written().length).toBeLessThanOrEqual(5 * writes);

    await meddle(other);
    cluster.client.writes.length = 0;
    await reconcileTwice();
    expect(written()).toEqual([]);
    await expect.poll(() => eventsAbout(message), WITHIN).toEqual([1]);
    const degraded = (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded");
    expect(degraded).toMatchObject({ status: "True", reason: "FailedToApply" });
    expect(degraded?.message).toContain(message);
  });

  it("does not take what it removes itself for another one's work", async () => {
    const ref = { name: LINUX_BRIDGE_DAEMON_SET, namespace: NAMESPACE };
    const [stopping] = await podsLike(cluster, ref);
    if (stopping === undefined) throw new Error("there is no pod");
    await cluster.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: NAMESPACE } });
    // While it is there, the operator remembers the workload that it has deleted.
    await cluster.admin.create(RESOURCES.pods, stopping);
    for (let round = 0; round < SWITCHES; round++) {
      const patch = (body: object) => cluster.admin.patch(CONFIGS, { name: "cluster" }, { type: "merge", body });
      await patch({ spec: { linuxBridge: null } });
      await cluster.until(async () => !(await cluster.isThere(RESOURCES.daemonSets, ref)));
      await patch({ spec: { linuxBridge: {} } });
      await cluster.until(() => cluster.isThere(RESOURCES.daemonSets, ref));
    }
    await reconcileTwice();
    const message = (await cluster.config())?.status?.components?.find(({ name }) => name === "linuxBridge")?.message;
    expect(message ?? "").not.toContain("keeps deleting it");
    await cluster.admin.delete(RESOURCES.pods, { ...ref, name: `${ref.name}-own` });
  });

  it("was never refused anything", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
