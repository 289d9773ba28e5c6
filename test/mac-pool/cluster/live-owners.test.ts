import { expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, ObjectRef, Resource } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { MAX_INTERFACES } from "../../../src/mac-pool/claims/limits.ts";
import type { ObjectReference } from "../../../src/mac-pool/claims/owner.ts";
import { readLiveOwners } from "../../../src/mac-pool/cluster/live-owners.ts";
import { LiveReads } from "../../../src/mac-pool/cluster/live-reads.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";
import { machine } from "../machines.ts";

const TEXT = "02:00:00:00:00:01";
const mac = parseMac(TEXT) as Mac;
const made = machine("web", "default", [{ name: "a", macAddress: TEXT }]);
const vm: KubeObject = { ...made, metadata: { ...made.metadata, uid: "u1" } };
const web: ObjectReference = { kind: "VirtualMachine", namespace: "default", name: "web" };

const known = { isUnstarted: ({ name }: ObjectReference) => name === "unstarted", hasSay: () => true };

/** A cluster with one VM. */
function cluster(asked: string[]): KubeClient {
  return {
    async get({ plural }: Resource, { name }: ObjectRef) {
      asked.push(plural);
      if (plural === "virtualmachines" && name === "web") return vm;
      throw new ApiError({ status: 404, reason: "NotFound", message: "not found" });
    },
    async list({ plural }: Resource) {
      asked.push(`all ${plural}`);
      return { items: [] };
    },
  } as unknown as KubeClient;
}

/** What is asked for until it is known who has the address. */
async function reads(...refs: readonly ObjectReference[]): Promise<string[]> {
  const asked: string[] = [];
  const live = new LiveReads(cluster(asked), systemClock, new AbortController().signal);
  await readLiveOwners(live, mac, refs, known);
  return asked;
}

it("asks for the VM only, where it has the address, and once for each name", async () => {
  expect(await reads(web)).toEqual(["virtualmachines"]);
  expect(await reads(web, { ...web, uid: "u0" }, web)).toEqual(["virtualmachines"]);
});

it("goes on to the instance and its launchers where the VM does not have it, unless it was never started", async () => {
  const toInstance = ["virtualmachines", "virtualmachineinstances"];
  expect(await reads({ ...web, name: "gone" })).toEqual([...toInstance, "all pods"]);
  expect(await reads({ ...web, name: "unstarted" })).toEqual(toInstance);
});

it("asks once for the claims of one object that are looked at together, and again for what is looked at later", async () => {
  const asked: string[] = [];
  const live = new LiveReads(cluster(asked), systemClock, new AbortController().signal);
  const gone: ObjectReference = { kind: "VirtualMachine", namespace: "default", name: "gone" };
  const look = () => readLiveOwners(live, mac, [gone], known);
  const [one, other] = await Promise.all([look(), look()]);
  expect(one).toEqual(other);
  expect(asked).toEqual(["virtualmachines", "virtualmachineinstances", "all pods"]);
  await look();
  expect(asked).toHaveLength(6);
});

it("finds with a pod that the pool manages what multus says that it has, which makes it no owner", async () => {
  const pod = (networks: object[], status: object[], more: object = {}): KubeObject => ({
    metadata: {
      name: "web",
      namespace: "default",
      uid: "u2",
      annotations: {
        [NETWORKS_ANNOTATION]: JSON.stringify(networks),
        [NETWORK_STATUS_ANNOTATION]: JSON.stringify(status),
      },
    },
    ...more,
  });
  const found = async (stored: KubeObject, managed = true) => {
    const live = new LiveReads(
      { get: async () => stored } as unknown as KubeClient,
      systemClock,
      new AbortController().signal,
    );
    const owners = await readLiveOwners(live, mac, [{ kind: "Pod", namespace: "default", name: "web" }], {
      isUnstarted: () => false,
      hasSay: () => managed,
    });
    return owners.map(({ name, interface: nic, countsAsOwner }) => [name, nic, countsAsOwner]);
  };
  const [asks, has] = [
    { name: "n", mac: TEXT },
    { name: "default/n", interface: "net1", mac: TEXT },
  ];
  expect(await found(pod([asks], []))).toEqual([["web", "net1", true]]);
  expect(await found(pod([asks], [has]))).toEqual([["web", "net1", true]]);
  expect(await found(pod([], [has]))).toEqual([["web", "", false]]);
  expect(await found(pod([], []))).toEqual([]);
  expect(await found(pod([], [has], { status: { phase: "Succeeded" } }))).toEqual([]);
  expect(await found(pod([], [{ ...has, default: true }]))).toEqual([]);
  const others = Array.from({ length: 2 * MAX_INTERFACES }, () => ({ name: "n", mac: "02:00:00:00:00:02" }));
  expect(await found(pod([], [...others.slice(1), has]))).toHaveLength(1);
  expect(await found(pod([], [...others, has]))).toEqual([]);
  expect(await found(pod([asks], [has]), false)).toEqual([]);
});

it("never shares a read that has begun: the claim of who asks then may be newer", async () => {
  const begun: (() => void)[] = [];
  const client = {
    get: () => new Promise((resolve) => begun.push(() => resolve(vm))),
  } as unknown as KubeClient;
  const clock = new ManualClock();
  const live = new LiveReads(client, clock, new AbortController().signal);
  const answers = [live.get(KINDS.virtualMachines, { name: "web", namespace: "default" })];
  await clock.advance(1);
  expect(begun).toHaveLength(1);
  answers.push(live.get(KINDS.virtualMachines, { name: "web", namespace: "default" }));
  await clock.advance(1);
  expect(begun).toHaveLength(2);
  for (const answer of begun) answer();
  expect(await Promise.all(answers)).toEqual([vm, vm]);
});

it("lists a namespace once at a time, and once for all who waited", async () => {
  const begun: (() => void)[] = [];
  const client = {
    list: () => new Promise((resolve) => begun.push(() => resolve({ items: [vm] }))),
  } as unknown as KubeClient;
  const clock = new ManualClock();
  const live = new LiveReads(client, clock, new AbortController().signal);
  const answers = [live.list(KINDS.pods, "default")];
  await clock.advance(1);
  for (let later = 0; later < 3; later++) {
    answers.push(live.list(KINDS.pods, "default"));
    await clock.advance(1);
  }
  expect(begun).toHaveLength(1);
  begun[0]?.();
  await clock.advance(1);
  expect(begun).toHaveLength(2);
  begun[1]?.();
  expect(await Promise.all(answers)).toEqual([[vm], [vm], [vm], [vm]]);
  answers.push(live.list(KINDS.pods, "default"));
  await clock.advance(1);
  expect(begun).toHaveLength(3);
});
