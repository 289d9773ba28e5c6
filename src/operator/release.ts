/**
 * What a user installs: all objects that the operator needs. deploy/ writes them as release.yaml, Helm chart and kustomize
 * base. The CRDs of claims and pools are not among them: the operator applies them with the component that uses them, and
 * no removal of a package takes users' data along. Pure.
 */

import { NETWORK_ADDONS_CONFIG_CRD } from "../api/crds.ts";
import { BURST_NODE_FLAGS } from "../api/image.ts";
import {
  DEFAULT_NAMESPACE,
  LABEL_COMPONENT,
  LABEL_PART_OF,
  LABEL_VERSION,
  METRICS_PORT,
  METRICS_PORT_NAME,
  OPERATOR_NAME,
} from "../api/names.ts";
import type { ImagePullPolicy } from "../api/network-addons-config.ts";
import type { Deployment } from "../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import { PREREQUISITE_DEFINITIONS, renderEverything } from "./components/registry.ts";
import { operatorAdmissionGuardObjects } from "./components/standing/operator-admission-guard.ts";
import { type ComponentImages, componentImages } from "./config/component-images.ts";
import { type Images, type OperatorSettings, settingsFor } from "./config/settings.ts";
import { ENFORCE_LABEL, labelValue, NODE_ACCESS_LEVEL } from "./manifests/labels.ts";
import { operatorAccess } from "./manifests/operator-access.ts";
import { identityObjects } from "./manifests/rbac.ts";
import { CLUSTER_CLIENT, deployment, env, fieldEnv } from "./manifests/workload.ts";

const HEALTH_PORT = 8081;
const LOG_LEVEL = "info";

export interface Release {
  /** The namespace and the CRD. The components need them, so they are the last to go. */
  readonly foundation: readonly KubeObject[];
  /** May be deleted and applied again at any time: the components go on meanwhile. */
  readonly operator: readonly KubeObject[];
  readonly admissionGuard: readonly KubeObject[];
}

/** What a package may set besides the image and the namespace. */
export interface ReleaseChanges {
  /** Of the operator, as it reports it. */
  readonly version?: string;
  readonly images?: Images;
  /** In the environment of the operator, which knows defaults for all. */
  readonly componentImages?: Partial<ComponentImages>;
  /** Goes before the names of those defaults. */
  readonly imageMirror?: string | undefined;
  /** Of the operator's pod. */
  readonly imagePullPolicy?: ImagePullPolicy;
}

/** `image`: the reference that every pod gets. */
export function release(
  image: string,
  namespace = DEFAULT_NAMESPACE,
  { imagePullPolicy = "IfNotPresent", imageMirror, ...changes }: ReleaseChanges = {},
): Release {
  const named = { ...changes.componentImages, ...(imageMirror ? { IMAGE_MIRROR: imageMirror } : {}) };
  const settings = { ...settingsFor(image, namespace), ...changes, componentImages: componentImages(named) };
  const labels = {
    name: OPERATOR_NAME,
    [LABEL_COMPONENT]: "network",
    [LABEL_PART_OF]: "cluster-network-addons",
    [LABEL_VERSION]: labelValue(settings.version),
  };
  const access = operatorAccess(renderEverything(settings), PREREQUISITE_DEFINITIONS);
  const definition = NETWORK_ADDONS_CONFIG_CRD;
  return {
    foundation: [namespaceObject(namespace), { ...definition, metadata: { ...definition.metadata, labels } }],
    operator: [
      ...identityObjects({
        serviceAccount: OPERATOR_NAME,
        namespace,
        labels,
        cluster: { role: OPERATOR_NAME, binding: OPERATOR_NAME, rules: access.cluster },
        namespaced: access.namespaced,
      }),
      operatorDeployment({ image, imagePullPolicy, settings, labels, named }),
    ],
    // With the operator's own name, so that the operator has no right to lift it.
    admissionGuard: operatorAdmissionGuardObjects({ name: OPERATOR_NAME, labels }),
  };
}

/** In the order of apply. */
export function releaseObjects({ foundation, operator, admissionGuard }: Release): KubeObject[] {
  return [...foundation, ...operator, ...admissionGuard];
}

/**
 * Of the operator's labels it has the name only: by others, suites of existing clusters find what a removal left behind.
 * The CNI installer writes to the host and the bridge marker uses its network. Both need the privileged level.
 */
function namespaceObject(name: string): KubeObject {
  const labels = { name: OPERATOR_NAME, [ENFORCE_LABEL]: NODE_ACCESS_LEVEL };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

interface OperatorPod {
  readonly image: string;
  readonly imagePullPolicy: ImagePullPolicy;
  readonly settings: OperatorSettings;
  readonly labels: Readonly<Record<string, string>>;
  /** Variables about images of other projects. */
  readonly named: Readonly<Record<string, string>>;
}

function operatorDeployment({ image, imagePullPolicy, settings, labels, named }: OperatorPod): Deployment {
  const { operatorNamespace, version, images, imagePullSecrets } = settings;
  return deployment({
    name: OPERATOR_NAME,
    namespace: operatorNamespace,
    labels,
    selector: { name: OPERATOR_NAME },
    replicas: 1,
    podLabels: CLUSTER_CLIENT,
    pod: {
      container: OPERATOR_NAME,
      process: "operator",
      nodeFlags: BURST_NODE_FLAGS,
      image,
      imagePullPolicy,
      imagePullSecrets,
      env: [
        fieldEnv("POD_NAME", "metadata.name"),
        fieldEnv("OPERATOR_NAMESPACE", "metadata.namespace"),
        fieldEnv("OPERAND_NAMESPACE", "metadata.namespace"),
        ...env({
          WATCH_NAMESPACE: "",
          OPERATOR_VERSION: version,
          LOG_LEVEL,
          HEALTH_PORT,
          METRICS_PORT,
          LINUX_BRIDGE_IMAGE: images.linuxBridge,
          LINUX_BRIDGE_MARKER_IMAGE: images.bridgeMarker,
          KUBEMACPOOL_IMAGE: images.kubeMacPool,
          ...named,
        }),
      ],
      ports: { [METRICS_PORT_NAME]: METRICS_PORT, health: HEALTH_PORT },
      healthPort: HEALTH_PORT,
      memory: "100Mi",
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
