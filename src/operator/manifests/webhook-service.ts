/** Objects around a workload that serves: Service, empty Secrets, disruption budget. Pure. */

import { METRICS_PORT, METRICS_PORT_NAME } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

export interface ServiceOptions {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly {
    readonly name: string;
    readonly port: number;
    /** A name is looked up in each pod, so that pods of two versions may listen on different ports. */
    readonly targetPort: number | string;
  }[];
}

export function service(options: ServiceOptions): KubeObject {
  const { name, namespace, labels, annotations, selector } = options;
  const ports = options.ports.map((port) => ({ ...port, protocol: "TCP" }));
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels, ...(annotations && { annotations }) },
    spec: { type: "ClusterIP", selector, ports, sessionAffinity: "None", internalTrafficPolicy: "Cluster" },
  };
}

/**
 * For Prometheus to find the daemons on the nodes. The port is not among the container's: on the node's network the scheduler
 * would keep the pod away from a node where another pod has it.
 */
export function nodeMetrics(
  name: string,
  namespace: string,
  labels: ServiceOptions["labels"],
  selector: ServiceOptions["selector"],
  port: number,
): KubeObject {
  return service({
    name,
    namespace,
    labels,
    selector,
    ports: [{ name: METRICS_PORT_NAME, port: METRICS_PORT, targetPort: port }],
  });
}

/** A Secret without data. The operator only ensures that it exists; its owner writes the data. */
export function tlsSecret(name: string, namespace: string, labels: Readonly<Record<string, string>>): KubeObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace, labels }, type: "kubernetes.io/tls" };
}

/** None for a single replica, because it would block every drain of its node. */
export function disruptionBudget(
  name: string,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
  replicas: number,
): KubeObject[] {
  if (replicas < 2) return [];
  return [
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name, namespace, labels },
      spec: { maxUnavailable: 1, selector: { matchLabels: selector } },
    },
  ];
}
