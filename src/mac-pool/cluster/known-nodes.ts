import { landingOf, type NodeLanding } from "../../api/landing.ts";
import type { Node } from "../../kube/client/built-in-kinds.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { InformerOptions } from "../../kube/informer/informer.ts";
import { DemandedInformer } from "./demanded-informer.ts";

/** What is kept of a node. */
export type KnownNode = KubeObject & NodeLanding;

/** Whether VMs can land on nodes, from a watch that begins when somebody first asks about networks. */
export class KnownNodes extends DemandedInformer<KnownNode> {
  constructor(options: Pick<InformerOptions<KnownNode>, "client" | "log" | "metrics" | "clock" | "random">) {
    super({ ...options, resource: RESOURCES.nodes as Resource as Resource<KnownNode>, transform: slim });
  }
}

/** A node has 10 kB and more, most of it images. */
function slim(node: KubeObject): KnownNode {
  const { name, uid, resourceVersion } = node.metadata;
  return { metadata: { name, uid, resourceVersion }, ...landingOf(node as Node) };
}
