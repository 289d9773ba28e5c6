/** Part of linuxBridge: the daemon that publishes each node's bridges as resources, and the policy that fences its rights. */

import { BRIDGE_MARKER, BRIDGE_RESOURCE_PREFIX } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { denyingPolicy } from "../manifests/admission-policy.ts";
import { identityObjects, READ, READ_CONFIG, rule } from "../manifests/rbac.ts";
import { daemonSet, fieldEnv } from "../manifests/workload.ts";
import type { RenderInput } from "./component.ts";

const DEFAULT_HEALTH_PORT = 8081;
const LABELS = { app: BRIDGE_MARKER };

export function bridgeMarkerObjects({ spec, settings }: RenderInput): KubeObject[] {
  const namespace = settings.operandNamespace;
  const healthPort = spec.linuxBridge?.bridgeMarkerHealthPort ?? DEFAULT_HEALTH_PORT;
  return [
    ...identityObjects({
      serviceAccount: BRIDGE_MARKER,
      namespace,
      labels: LABELS,
      cluster: {
        role: "bridge-marker-cr",
        binding: "bridge-marker-crb",
        rules: [rule("", ["nodes"], READ), rule("", ["nodes/status"], ["patch"]), READ_CONFIG],
      },
    }),
    ...ownNodePolicy(namespace),
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
        env: [fieldEnv("NODE_NAME", "spec.nodeName")],
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

const NODE_NAME_CLAIM = "authentication.kubernetes.io/node-name";

/**
 * RBAC cannot say "its own node", so a stolen marker token could rewrite every node. A pod's token names its node
 * (Kubernetes 1.30 and later). For a token without that claim the policy guards only the keys.
 */
function ownNodePolicy(namespace: string): KubeObject[] {
  const ours = (key: string): string => `${key}.startsWith('${BRIDGE_RESOURCE_PREFIX}')`;
  const kept = (from: string, to: string): string =>
    `${from}.?status.?capacity.orValue({}).all(k, ${ours("k")} || ` +
    `(k in ${to}.?status.?capacity.orValue({}) && ${to}.status.capacity[k] == ${from}.status.capacity[k]))`;
  const same = (path: string, empty: string): string =>
    `object.?${path}.orValue(${empty}) == oldObject.?${path}.orValue(${empty})`;
  return denyingPolicy({
    name: BRIDGE_MARKER,
    labels: LABELS,
    matches: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["nodes/status"], operations: ["UPDATE"] }],
    conditions: [
      {
        name: "is-bridge-marker",
        expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${BRIDGE_MARKER}'`,
      },
    ],
    validations: [
      {
        expression:
          `!has(request.userInfo.extra) || !('${NODE_NAME_CLAIM}' in request.userInfo.extra) || ` +
          `request.userInfo.extra['${NODE_NAME_CLAIM}'] == [object.metadata.name]`,
        message: "bridge-marker may change the status of its own node only",
      },
      {
        expression: `${kept("object", "oldObject")} && ${kept("oldObject", "object")}`,
        message: `bridge-marker may change resources of ${BRIDGE_RESOURCE_PREFIX} only`,
      },
      {
        expression: [
          same("status.?conditions", "[]"),
          same("status.?addresses", "[]"),
          same("metadata.?labels", "{}"),
          same("metadata.?annotations", "{}"),
        ].join(" && "),
        message: "bridge-marker may not change conditions, addresses, labels and annotations of nodes",
      },
    ],
  });
}
