/** What a user installs: everything the operator needs to run. `npm run generate` writes it to deploy/release.yaml. Pure. */

import { CRDS } from "../api/crds.ts";
import { DEFAULT_IMAGE, LABEL_COMPONENT, LABEL_PART_OF, LABEL_VERSION, OPERATOR_NAME } from "../api/names.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import { renderEverything } from "./components/registry.ts";
import { labelValue } from "./manifests/labels.ts";
import { operatorAccess } from "./manifests/operator-access.ts";
import { identityObjects } from "./manifests/rbac.ts";
import { deployment, env, fieldEnv } from "./manifests/workload.ts";
import type { OperatorSettings } from "./settings.ts";

const HEALTH_PORT = 8081;

/** In the order in which they can be applied. */
export function releaseObjects(settings: OperatorSettings): KubeObject[] {
  const { operatorNamespace, version } = settings;
  const labels = {
    name: OPERATOR_NAME,
    [LABEL_COMPONENT]: "network",
    [LABEL_PART_OF]: "cluster-network-addons",
    [LABEL_VERSION]: labelValue(version),
  };
  const access = operatorAccess(renderEverything(settings));
  return [
    namespace(operatorNamespace, labels),
    ...CRDS.map((definition) => ({ ...definition, metadata: { ...definition.metadata, labels } })),
    ...identityObjects({
      serviceAccount: OPERATOR_NAME,
      namespace: operatorNamespace,
      labels,
      cluster: { role: OPERATOR_NAME, binding: OPERATOR_NAME, rules: access.cluster },
      namespaced: access.namespaced,
    }),
    operatorDeployment(settings, labels),
  ];
}

/** The CNI installer writes to the host and the bridge marker is on its network: both need the privileged level. */
function namespace(name: string, labels: Readonly<Record<string, string>>): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { ...labels, "pod-security.kubernetes.io/enforce": "privileged" } },
  };
}

function operatorDeployment(settings: OperatorSettings, labels: Readonly<Record<string, string>>): KubeObject {
  const { operatorNamespace, version, images } = settings;
  return deployment({
    name: OPERATOR_NAME,
    namespace: operatorNamespace,
    labels,
    selector: { name: OPERATOR_NAME },
    replicas: 1,
    pod: {
      container: OPERATOR_NAME,
      entry: "src/operator/main.ts",
      image: DEFAULT_IMAGE,
      imagePullPolicy: "IfNotPresent",
      env: [
        fieldEnv("POD_NAME", "metadata.name"),
        fieldEnv("OPERATOR_NAMESPACE", "metadata.namespace"),
        fieldEnv("OPERAND_NAMESPACE", "metadata.namespace"),
        ...env({
          OPERATOR_VERSION: version,
          HEALTH_PORT,
          LINUX_BRIDGE_IMAGE: images.linuxBridge,
          LINUX_BRIDGE_MARKER_IMAGE: images.bridgeMarker,
          KUBEMACPOOL_IMAGE: images.kubeMacPool,
        }),
      ],
      ports: { health: HEALTH_PORT },
      healthPort: HEALTH_PORT,
      memory: "64Mi",
      serviceAccount: OPERATOR_NAME,
      priorityClass: "system-cluster-critical",
      placement: {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 10,
                preference: {
                  matchExpressions: [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists" }],
                },
              },
            ],
          },
        },
        tolerations: [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" }],
      },
    },
  });
}
