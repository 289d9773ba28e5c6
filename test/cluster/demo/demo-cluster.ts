import type { CustomKind } from "../../../src/api/kinds.ts";
import * as kinds from "../../../src/api/kinds.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import type { MACPool } from "../../../src/api/mac-pool.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, ObjectRef, Resource } from "../../../src/kube/client/resource.ts";
import type { Cluster } from "../cluster.ts";
import { type CommandResult, outputOf } from "../command.ts";
import type { VirtualMachine, VirtualMachineInstance } from "../kubevirt/virtual-machine.ts";

/**
 * What the steps act on: the cluster, a client that reads, and `kubectl` for everything a user would do by hand.
 */
export interface DemoCluster {
  readonly cluster: Cluster;
  readonly client: KubeClient;
  /** `kubectl macpool ...` as a user with the plugin on the PATH would call it. */
  macpool(args: readonly string[]): Promise<CommandResult>;
  /** Shown while the step goes on. */
  note(text: string): void;
}

/** Kinds of `src/api` as resources of the client. */
const resource = <T extends KubeObject>(kind: CustomKind): Resource<T> => kind;
export const CONFIGS = resource<NetworkAddonsConfig & KubeObject>(kinds.NETWORK_ADDONS_CONFIGS);
export const POOLS = resource<MACPool & KubeObject>(kinds.MAC_POOLS);
export const CLAIMS = resource<MACClaim & KubeObject>(kinds.MAC_CLAIMS);
export const VIRTUAL_MACHINES = resource<VirtualMachine & KubeObject>(kinds.VIRTUAL_MACHINES);
export const VIRTUAL_MACHINE_INSTANCES = resource<VirtualMachineInstance & KubeObject>(kinds.VIRTUAL_MACHINE_INSTANCES);

/** `kubectl ...`; throws with kubectl's own words when it fails. */
export async function kubectl(demo: DemoCluster, args: readonly string[], stdin?: string): Promise<string> {
  return outputOf(`kubectl ${args.join(" ")}`, await demo.cluster.kubectl(args, stdin === undefined ? {} : { stdin }));
}

/** `kubectl apply --server-side -f -`. */
export const kubectlApply = (demo: DemoCluster, ...objects: readonly object[]): Promise<string> =>
  kubectl(demo, ["apply", "--server-side", "-f", "-"], objects.map((each) => JSON.stringify(each)).join("\n---\n"));

/** A command in a node's namespaces; throws when it fails. */
export async function onNode(demo: DemoCluster, node: string, argv: readonly string[]): Promise<string> {
  return outputOf(`${argv.join(" ")} on ${node}`, await demo.cluster.exec(node, argv));
}

/** A command in a pod's namespaces; throws when it fails. */
export async function inPod(
  demo: DemoCluster,
  namespace: string,
  pod: string,
  argv: readonly string[],
): Promise<string> {
  return outputOf(`${argv.join(" ")} in pod ${pod}`, await demo.cluster.execInPod(namespace, pod, argv));
}

/** The object, or undefined when there is none. */
export async function getIfThere<T extends KubeObject>(
  demo: DemoCluster,
  kind: Resource<T>,
  ref: ObjectRef,
): Promise<T | undefined> {
  try {
    return await demo.client.get(kind, ref);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export interface Seen<T> {
  readonly object: T;
  /** performance.now() when the watch delivered it. */
  readonly atMs: number;
}

/** Watches one object until `predicate` holds of it: to the millisecond, where polling would round. */
export async function whenSeen<T extends KubeObject>(
  demo: DemoCluster,
  kind: Resource<T>,
  ref: ObjectRef,
  predicate: (object: T) => boolean,
  signal: AbortSignal,
): Promise<Seen<T>> {
  const scope = ref.namespace === undefined ? {} : { namespace: ref.namespace };
  const fieldSelector = `metadata.name=${ref.name}`;
  for await (const { type, object } of demo.client.watch(kind, { ...scope, fieldSelector, signal })) {
    if ((type === "ADDED" || type === "MODIFIED") && predicate(object)) return { object, atMs: performance.now() };
  }
  throw new Error(`the watch of ${kind.kind} ${ref.name} ended before it was as expected`);
}
