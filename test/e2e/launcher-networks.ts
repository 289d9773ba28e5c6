/**
 * What multus and then virt-handler do for a virt-launcher pod, from outside and when the test says so: the networks of its
 * annotation are attached by the node's own plugins, reported in network-status, and bound to taps.
 */

import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { type CniEnvironment, cniAdd, cniDelete, type RunPlugin } from "../cluster/multus/cni-command.ts";
import { type Delegate, makeDelegate } from "../cluster/multus/delegate.ts";
import { NETWORKS_ANNOTATION, type NetworkSelection, parseNetworks } from "../cluster/multus/network-selection.ts";
import { type CniResult, NETWORK_STATUS_ANNOTATION, networkStatus } from "../cluster/multus/network-status.ts";
import { bindByBridge } from "../virtual-machine/bridge-binding.ts";
import type { GuestNic } from "../virtual-machine/guest.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { NodeNamespace } from "./node-namespace.ts";

/** A network of the launcher. */
export interface LauncherNetwork {
  /** The NAD's. */
  readonly name: string;
  /** The port of the node's bridge. */
  readonly port: string;
  readonly nic: GuestNic;
  readonly delegate: Delegate;
  readonly env: CniEnvironment;
  readonly result: CniResult;
}

export class LauncherNetworks {
  readonly node: string;
  readonly networks: readonly LauncherNetwork[];
  readonly #cluster: NodeCluster;
  /** A process of this machine in the pod's network namespace. */
  readonly #process: number;

  private constructor(cluster: NodeCluster, node: string, process: number, networks: readonly LauncherNetwork[]) {
    this.#cluster = cluster;
    this.node = node;
    this.#process = process;
    this.networks = networks;
  }

  static async attach(cluster: NodeCluster, pod: Pod): Promise<LauncherNetworks> {
    const { name = "", namespace = "", annotations = {}, uid = "" } = pod.metadata ?? {};
    const node = pod.spec?.nodeName ?? "";
    const netns = await NodeNamespace.ofPod(cluster, node, pod.status?.podIP ?? "");
    const selections = parseNetworks(annotations[NETWORKS_ANNOTATION] ?? "", namespace);
    const networks: LauncherNetwork[] = [];
    for (const selection of selections) {
      const delegate = makeDelegate(selection, await configOf(cluster, selection));
      const env = {
        CNI_CONTAINERID: uid,
        CNI_NETNS: netns.path,
        CNI_IFNAME: delegate.interface,
        CNI_ARGS: Object.entries({ IgnoreUnknown: "true", ...delegate.args })
          .map(([key, value]) => `${key}=${value}`)
          .join(";"),
      };
      const result = await cniAdd(delegate, env, onNode(cluster, node));
      const bound = await bindByBridge((argv) => netns.run(argv), delegate.interface);
      const nic = { name: selection.name, ...bound };
      networks.push({ name: selection.name, port: result.interfaces?.[1]?.name ?? "", nic, delegate, env, result });
    }
    const status = JSON.stringify(networks.flatMap(({ delegate, result }) => networkStatus(delegate.network, result)));
    const reported = [`--namespace=${namespace}`, "annotate", "pod", name, `${NETWORK_STATUS_ANNOTATION}=${status}`];
    await cluster.mustKubectl(reported);
    return new LauncherNetworks(cluster, node, await netns.process(), networks);
  }

  get nics(): GuestNic[] {
    return this.networks.map(({ nic }) => nic);
  }

  network(name: string): LauncherNetwork {
    const found = this.networks.find((network) => network.name === name);
    if (found === undefined) throw new Error(`the launcher has no network ${name}`);
    return found;
  }

  /** For QEMU, which is a process of this machine in the pod's network namespace. */
  readonly enter = (argv: readonly string[]): string[] => ["nsenter", `--net=/proc/${this.#process}/ns/net`, ...argv];

  /** With what was kept at ADD. The pod may be gone. */
  async detach(name: string): Promise<void> {
    const { delegate, env, result } = this.network(name);
    await cniDelete(delegate, env, result, onNode(this.#cluster, this.node));
  }
}

const onNode =
  (cluster: NodeCluster, node: string): RunPlugin =>
  (file, env, stdin) => {
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return cluster.exec(node, ["env", "-i", ...assignments, file], { stdin });
  };

async function configOf(cluster: NodeCluster, { namespace, name }: NetworkSelection): Promise<string> {
  const path = [
    "get",
    "network-attachment-definition",
    name,
    `--namespace=${namespace}`,
    "-o",
    "jsonpath={.spec.config}",
  ];
  return await cluster.mustKubectl(path);
}
