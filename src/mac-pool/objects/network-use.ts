import { nadOf, networkOf } from "../../api/claim-network.ts";
import { isStartingPhase } from "../../api/phase.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { listAt, textAt } from "../../kube/json-path.ts";
import { INSTANCE_SPEC } from "./guest-interfaces.ts";
import { isLauncher } from "./listed-macs.ts";
import { isFinished, podNetworks } from "./pod-networks.ts";

/** Which NetworkAttachmentDefinitions an object is on, and where it runs. */
export interface NetworkUse {
  /** As namespace/name, each once. */
  readonly nads: readonly string[];
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Empty until it has one. A VMI has it only when its launcher runs there. */
  readonly node: string;
  readonly state: UseState;
}

/** `waiting`: for a node, as far as the object itself tells. */
type UseState = "running" | "starting" | "waiting";

/** Of a VMI whose launcher exists. Before, KubeVirt waits for something else, such as a disk. */
const SCHEDULING = "Scheduling";

/** Of a VMI; none once it has ended. */
export function networkUseOfInstance(vmi: KubeObject): NetworkUse {
  const networks = isFinished(vmi) ? [] : listAt(vmi, ...INSTANCE_SPEC, "networks");
  const names = networks.map((network) => textAt(network, "multus", "networkName"));
  return useOf(
    vmi,
    names.map((name) => `multus ${name}`),
    textAt(vmi, "status", "nodeName"),
    textAt(vmi, "status", "phase") === SCHEDULING,
  );
}

/** Of a pod; none of a launcher, whose VMI counts, and none once it has ended. */
export function networkUseOfPod(pod: KubeObject): NetworkUse {
  const networks = isFinished(pod) || isLauncher(pod) ? undefined : podNetworks(pod);
  const names = networks !== undefined && "elements" in networks ? networks.elements.map(networkOf) : [];
  return useOf(pod, names, textAt(pod, "spec", "nodeName"), true);
}

/** `isScheduled`: whether it waits for a node as long as it has none. */
function useOf(object: KubeObject, networks: readonly string[], node: string, isScheduled: boolean): NetworkUse {
  const { namespace = "", name = "", uid = "" } = object.metadata;
  const nads = networks.flatMap((network) => {
    const nad = nadOf(network, namespace);
    return nad === undefined ? [] : [`${nad.namespace}/${nad.name}`];
  });
  const isStarting = node === "" || isStartingPhase(textAt(object, "status", "phase"));
  const state = node === "" && isScheduled ? "waiting" : isStarting ? "starting" : "running";
  return { nads: [...new Set(nads)], namespace, name, uid, node, state };
}
