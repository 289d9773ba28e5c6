/** Part of linuxBridge: the daemon that publishes each node's bridges as resources, and the admission guard of its rights. */

import { NODE_MACS_CRD } from "../../api/crds.ts";
import { IDLE_NODE_FLAGS } from "../../api/image.ts";
import { BRIDGE_MARKER, BRIDGE_RESOURCE_PREFIX, MAC_POOL_GROUP } from "../../api/names.ts";
import type { NetworkAddonsConfigSpec } from "../../api/network-addons-config.ts";
import { BRIDGE_MARKER_HEALTH_PORT, BRIDGE_MARKER_METRICS_PORT } from "../../api/node-ports.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { ownNodePolicy } from "../manifests/own-node-policy.ts";
import { ASK_WHO_MAY, identityObjects, READ, READ_CONFIG, rule } from "../manifests/rbac.ts";
import { nodeMetrics } from "../manifests/webhook-service.ts";
import { daemonSet, env, fieldEnv, HEALTH_HOST, nodeProbes } from "../manifests/workload.ts";
import type { RenderInput } from "./component.ts";
import { nodeMacsPolicy, REPORT_NODE_MACS } from "./node-macs.ts";

const LABELS = { app: BRIDGE_MARKER };

/** V8 collects a young generation of twice 1 MB when the first twentieth is used, so that a marker at rest does not fill it: 0.9 MB. */
const MARKER_NODE_FLAGS = [...IDLE_NODE_FLAGS, "--max-old-space-size=64", "--minor-gc-task-trigger=5"];

export function bridgeMarkerObjects({ spec, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const asked = spec.linuxBridge ?? {};
  const healthPort = asked.bridgeMarkerHealthPort ?? BRIDGE_MARKER_HEALTH_PORT;
  const probes = nodeProbes(asked.healthProbeAddress, healthPort);
  return [
    NODE_MACS_CRD,
    ...identityObjects({
      serviceAccount: BRIDGE_MARKER,
      namespace,
      labels: LABELS,
      cluster: {
        role: "bridge-marker-cr",
        binding: "bridge-marker-crb",
        rules: [
          rule("", ["nodes"], READ),
          rule("", ["nodes/status"], ["patch"]),
          REPORT_NODE_MACS,
          rule(MAC_POOL_GROUP, ["macpools"], ["list"]),
          READ_CONFIG,
          ...ASK_WHO_MAY,
        ],
      },
    }),
    ...ownNodePolicy({ account: BRIDGE_MARKER, namespace, resourcePrefix: BRIDGE_RESOURCE_PREFIX, labels: LABELS }),
    ...nodeMacsPolicy(namespace, LABELS),
    nodeMetrics("bridge-marker-metrics", namespace, LABELS, { name: BRIDGE_MARKER }, BRIDGE_MARKER_METRICS_PORT),
    daemonSet({
      name: BRIDGE_MARKER,
      namespace,
      labels: LABELS,
      selector: { name: BRIDGE_MARKER },
      pod: {
        container: BRIDGE_MARKER,
        process: "bridge-marker",
        nodeFlags: MARKER_NODE_FLAGS,
        args: [
          ...["-node-name", "$(NODE_NAME)"],
          ...["-health-probe-port", String(healthPort), "-health-probe-host", `$(${HEALTH_HOST})`],
          ...selectionFlags(asked),
        ],
        image: settings.images.bridgeMarker,
        imagePullPolicy: spec.imagePullPolicy,
        imagePullSecrets: settings.imagePullSecrets,
        env: [
          fieldEnv("NODE_NAME", "spec.nodeName"),
          ...env({ METRICS_PORT: BRIDGE_MARKER_METRICS_PORT }),
          ...probes.env,
        ],
        ...probes.pod,
        memory: "32Mi",
        serviceAccount: BRIDGE_MARKER,
        priorityClass: "system-node-critical",
        placement: spec.placementConfiguration.workloads,
        hostNetwork: true,
      },
    }),
  ];
}

type LinuxBridge = NonNullable<NetworkAddonsConfigSpec["linuxBridge"]>;

/** Which bridges the marker publishes; none of these flags: all. */
function selectionFlags({
  markerInclude = [],
  markerExclude = [],
  markerOnlyWithPorts = false,
}: LinuxBridge): string[] {
  const listed = { "-include": markerInclude, "-exclude": markerExclude };
  return [
    ...Object.entries(listed).flatMap(([flag, patterns]) => (patterns.length === 0 ? [] : [flag, patterns.join(",")])),
    ...(markerOnlyWithPorts ? ["-only-with-ports"] : []),
  ];
}
