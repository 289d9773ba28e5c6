import { isStartingPhase } from "../../api/starting-phase.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { listAt, textAt } from "../../kube/json-path.ts";
import { INSTANCE_SPEC } from "./guest-interfaces.ts";
import { isLauncher } from "./listed-macs.ts";
import { isFinished, nadOf, networkOf, podNetworks } from "./pod-networks.ts";

/** Which NetworkAttachmentDefinitions an object is on, and where it runs. */
export interface NetworkUse {
  /** As namespace/name, each once. */
  readonly nads: readonly string[];
  readonly namespace: string;
  readonly name: string;
  /** Empty while it waits for one. */
  readonly node: string;
  /** It does not run yet. */
  readonly isStarting: boolean;
}

/** Of a VMI; none once it has ended. */
export function networkUseOfInstance(vmi: KubeObject): NetworkUse {
  const networks = isFinished(vmi) ? [] : listAt(vmi, ...INSTANCE_SPEC, "networks");
  const names = networks.map((network) => textAt(network, "multus", "networkName"));
  return useOf(
    vmi,
    names.map((name) => `multus ${name}`),
    textAt(vmi, "status", "nodeName"),
  );
}

/** Of a pod; none of a launcher, whose VMI counts, and none once it has ended. */
export function networkUseOfPod(pod: KubeObject): NetworkUse {
  const networks = isFinished(pod) || isLauncher(pod) ? undefined : podNetworks(pod);
  const names = networks !== undefined && "elements" in networks ? networks.elements.map(networkOf) : [];
  return useOf(pod, names, textAt(pod, "spec", "nodeName"));
}

function useOf(object: KubeObject, networks: readonly string[], node: string): NetworkUse {
  const { namespace = "", name = "" } = object.metadata;
  const nads = networks.flatMap((network) => {
    const nad = nadOf(network, namespace);
    return nad === undefined ? [] : [`${nad.namespace}/${nad.name}`];
  });
  const isStarting = isStartingPhase(textAt(object, "status", "phase"));
  return { nads: [...new Set(nads)], namespace, name, node, isStarting };
}
