import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { claimName, type Mac, parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner } from "../../../src/api/mac-claim.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, ObjectRef, Resource } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { LiveReads } from "../../../src/mac-pool/cluster/live-reads.ts";
import { connect } from "../../../src/mac-pool/connections.ts";
import { unclaimedIn } from "../../../src/mac-pool/controllers/adoption.ts";
import { allocatedTo, owner } from "../claims/lifecycle-fixture.ts";
import { ListedObjects } from "../inspection/queries/listed-objects.ts";
import { machine } from "../machines.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) as Mac;
const OPTED_IN = { [POD_WEBHOOK]: "allocate" };
const OPTED_OUT = { [POD_WEBHOOK]: "ignore" };

const namespace = (name: string, labels: Record<string, string> = {}): KubeObject => ({ metadata: { name, labels } });

const pod = (space: string, name: string, more: object = {}): KubeObject => ({
  metadata: {
    name,
    namespace: space,
    uid: `${space}-${name}`,
    annotations: { [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "n", mac: TEXT }]) },
    ...more,
  },
});

function claimOf(by: ClaimOwner, mac: Mac): KubeObject {
  const made = allocatedTo(by);
  return { ...made, metadata: { ...made.metadata, name: claimName(mac) } } as unknown as KubeObject;
}

/** It says so itself. */
const launcher = pod("plain", "launcher", {
  labels: { "kubevirt.io": "virt-launcher" },
  ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "fake", uid: "f" }],
});

const poolWith = (objectOptOut: string, more: object = {}): KubeObject => ({
  metadata: { name: "default", uid: "p" },
  spec: { ranges: [{ start: "02:00:00:00:00:00", end: "02:00:00:00:00:ff" }], objectOptOut, ...more },
});

describe("objects that list an address", () => {
  const stop: AbortController[] = [];
  afterEach(() => {
    for (const each of stop.splice(0)) each.abort();
  });

  /** `now`: the labels of namespaces as the API server has them, where the caches don't know. */
  async function cluster(listed: Record<string, readonly KubeObject[]>, now: readonly KubeObject[] = []) {
    const ended = new AbortController();
    stop.push(ended);
    const client = new ListedObjects(listed).asKubeClient();
    const caches = new Caches({ client, log: silentLog, metrics: new Registry(), excludedNamespaces: ["kube-system"] });
    caches.run(ended.signal).catch(() => {});
    await caches.whenSynced(ended.signal);
    const live = {
      async get({ plural }: Resource, { name, namespace: space }: ObjectRef) {
        const objects = plural === "namespaces" && now.length > 0 ? now : (listed[plural] ?? []);
        return objects.find(({ metadata }) => metadata.name === name && metadata.namespace === space);
      },
    } as unknown as KubeClient;
    const connections = connect({ client: live, leaderClient: live }, caches, systemClock);
    const reads = new LiveReads(live, systemClock, ended.signal);
    const owners = (...refs: { readonly namespace: string; readonly name: string }[]) =>
      connections.liveOwners(
        reads,
        MAC,
        allocatedTo(owner()),
        refs.map((ref) => ({ kind: "Pod", ...ref })),
      );
    return { caches, owners };
  }

  const countingIn = (caches: Caches): string[] =>
    caches.objectsListing(MAC).flatMap(({ name = "", countsAsOwner }) => (countsAsOwner ? [name] : []));

  it("own it only where the pool manages them, and are listed all the same", async () => {
    const pods = [pod("in", "managed"), pod("in", "out", { labels: OPTED_OUT }), pod("plain", "stranger"), launcher];
    const unknown = [pod("nowhere", "unknown"), pod("kube-system", "system")];
    const { caches } = await cluster({
      macpools: [poolWith("Allow")],
      namespaces: [namespace("in", OPTED_IN), namespace("plain"), namespace("kube-system", OPTED_IN)],
      pods: [...pods, ...unknown],
      virtualmachines: [machine("web", "plain", [{ name: "a", macAddress: TEXT }])],
    });
    expect(countingIn(caches).sort()).toEqual(["managed", "web"]);
    expect(caches.objectsListing(MAC).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["stranger", "out", "unknown", "system", "fake"]),
    );
    expect([...unclaimedIn(caches)].map((each) => each.owner)).toEqual(["VirtualMachine plain/web", "Pod in/managed"]);
  });

  it("own it against their own label where no object may opt out", async () => {
    const { caches } = await cluster({
      macpools: [poolWith("Claim")],
      namespaces: [namespace("in", OPTED_IN)],
      pods: [pod("in", "out", { labels: OPTED_OUT })],
    });
    expect(countingIn(caches)).toEqual(["out"]);
  });

  it("own it past the range of their pool only where a claim names them", async () => {
    const pools = [
      {
        ...poolWith("Claim"),
        spec: { ranges: [{ start: "02:00:00:00:01:00", end: "02:00:00:00:01:ff" }], explicitAddresses: "OwnPool" },
      },
      {
        metadata: { name: "other", uid: "o" },
        spec: { ranges: [{ start: "02:00:00:00:00:00", end: "02:00:00:00:00:0f" }] },
      },
    ];
    const claim = claimOf(owner({ kind: "Pod", namespace: "in", name: "named" }), MAC);
    const objects = {
      macpools: pools,
      namespaces: [namespace("in", OPTED_IN)],
      pods: [pod("in", "named"), pod("in", "late")],
      virtualmachines: [machine("web", "in", [{ name: "a", macAddress: TEXT }])],
    };
    const { caches: without } = await cluster(objects);
    expect(countingIn(without)).toEqual([]);
    expect([...unclaimedIn(without)]).toEqual([]);
    const { caches } = await cluster({ ...objects, macclaims: [claim] });
    expect(countingIn(caches)).toEqual(["named"]);
    expect(caches.claimants(MAC).map(({ name }) => name)).toEqual(["named"]);
  });

  it("are VMs without a say too, by the label of their namespace or their own, unless a claim names them", async () => {
    const opted = { [VM_WEBHOOK]: "ignore" };
    const vm = (space: string, name: string, labels: Record<string, string> = {}): KubeObject => {
      const made = machine(name, space, [{ name: "a", macAddress: TEXT }]);
      return { ...made, metadata: { ...made.metadata, uid: name, labels } };
    };
    const objects = {
      namespaces: [namespace("wild", opted), namespace("in"), namespace("full", opted)],
      virtualmachines: [vm("wild", "unreviewed"), vm("in", "out", opted), vm("in", "in"), vm("full", "late")],
    };
    const { caches } = await cluster({ ...objects, macpools: [poolWith("Allow")] });
    expect(countingIn(caches)).toEqual(["in"]);
    const named = claimOf(owner({ namespace: "wild", name: "unreviewed" }), MAC);
    const { caches: known } = await cluster({ ...objects, macpools: [poolWith("Allow")], macclaims: [named] });
    expect(countingIn(known).sort()).toEqual(["in", "unreviewed"]);
    const other = claimOf(owner({ namespace: "full", name: "web" }), (MAC + 1) as Mac);
    const limited = poolWith("Allow", { maxAddressesPerNamespace: 1 });
    const { caches: bounded } = await cluster({ ...objects, macpools: [limited], macclaims: [other] });
    const left = [...unclaimedIn(bounded)].map((each) => each.owner.replace("VirtualMachine ", ""));
    expect(left).toEqual(["wild/unreviewed", "in/out", "in/in"]);
  });

  it("lose it only where the API server says too that their namespace does not opt in", async () => {
    const pods = [pod("late", "web"), pod("plain", "web"), pod("gone", "web")];
    const { owners } = await cluster(
      { macpools: [poolWith("Allow")], namespaces: [namespace("late"), namespace("plain"), namespace("gone")], pods },
      [namespace("late", OPTED_IN), namespace("plain")],
    );
    const refs = ["late", "plain", "gone"].map((space) => ({ namespace: space, name: "web" }));
    expect((await owners(...refs)).map(({ namespace: space }) => space)).toEqual(["late", "gone"]);
  });
});
