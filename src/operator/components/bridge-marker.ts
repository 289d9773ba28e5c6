/** Part of linuxBridge: the daemon that publishes each node's bridges as resources, and the policy that fences its rights. */

import { BRIDGE_MARKER, BRIDGE_RESOURCE_PREFIX } from "../../api/names.ts";
import { BRIDGE_MARKER_HEALTH_PORT, BRIDGE_MARKER_METRICS_PORT } from "../../api/node-ports.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { ownNodePolicy } from "../manifests/own-node-policy.ts";
import { ASK_WHO_MAY, identityObjects, READ, READ_CONFIG, rule } from "../manifests/rbac.ts";
import { nodeMetrics } from "../manifests/webhook-service.ts";
import { daemonSet, env, fieldEnv } from "../manifests/workload.ts";
import type { RenderInput } from "./component.ts";

const LABELS = { app: BRIDGE_MARKER };

export function bridgeMarkerObjects({ spec, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const healthPort = spec.linuxBridge?.bridgeMarkerHealthPort ?? BRIDGE_MARKER_HEALTH_PORT;
  return [
    ...identityObjects({
      serviceAccount: BRIDGE_MARKER,
      namespace,
      labels: LABELS,
      cluster: {
        role: "bridge-marker-cr",
        binding: "bridge-marker-crb",
        rules: [rule("", ["nodes"], READ), rule("", ["nodes/status"], ["patch"]), READ_CONFIG, ...ASK_WHO_MAY],
      },
    }),
    ...ownNodePolicy({ account: BRIDGE_MARKER, namespace, resourcePrefix: BRIDGE_RESOURCE_PREFIX, labels: LABELS }),
    nodeMetrics("bridge-marker-metrics", namespace, LABELS, { name: BRIDGE_MARKER }, BRIDGE_MARKER_METRICS_PORT),
    daemonSet({
      name: BRIDGE_MARKER,
      namespace,
      labels: LABELS,
      selector: { name: BRIDGE_MARKER },
      pod: {
        container: BRIDGE_MARKER,
        process: "bridge-marker",
        nodeFlags: ["--max-semi-space-size=1", "--max-old-space-size=64"],
        args: ["-node-name", "$(NODE_NAME)", "-health-probe-port", String(healthPort)],
        image: settings.images.bridgeMarker,
        imagePullPolicy: spec.imagePullPolicy,
        imagePullSecrets: settings.imagePullSecrets,
        env: [fieldEnv("NODE_NAME", "spec.nodeName"), ...env({ METRICS_PORT: BRIDGE_MARKER_METRICS_PORT })],
        ports: healthPort === 0 ? {} : { health: healthPort },
        healthPort,
        memory: "48Mi",
        serviceAccount: BRIDGE_MARKER,
        priorityClass: "system-node-critical",
        placement: spec.placementConfiguration.workloads,
        hostNetwork: true,
      },
    }),
  ];
}
