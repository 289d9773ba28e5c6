/** macvtap: the CNI plugin for macvtap interfaces, and the device plugin that makes them for pods. Not on OpenShift. */

import { DEFAULT_DEVICE_PLUGIN_CONFIG } from "../../api/network-addons-config.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { identityObjects } from "../manifests/rbac.ts";
import { cniBinDir } from "./cni-directories.ts";
import type { Component, RenderInput } from "./component.ts";
import {
  ANY_HOST_FILES,
  externalContainer,
  externalDaemonSet,
  hostVolume,
  PRIVILEGED,
  ROOT_POD,
} from "./external-component.ts";

const NAME = "macvtap-cni";
const LABELS = { app: NAME };
const DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins";

export const macvtap: Component = {
  name: "macvtap",
  hostPaths: (input) => [cniBinDir(input)],
  render: objects,
};

function objects(input: RenderInput): KubeObject[] {
  const namespace = input.settings.operandNamespace;
  const config = input.spec.macvtap?.devicePluginConfig || DEFAULT_DEVICE_PLUGIN_CONFIG;
  const ownConfig: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: DEFAULT_DEVICE_PLUGIN_CONFIG, namespace, labels: LABELS },
    // Without entries the device plugin offers every link of the node that can carry macvtap interfaces.
    data: { DP_MACVTAP_CONF: "[]" },
  };
  // A ConfigMap of another name is the user's.
  const isOwn = config === DEFAULT_DEVICE_PLUGIN_CONFIG;
  return [
    ...identityObjects({ serviceAccount: NAME, namespace, labels: LABELS }),
    ...(isOwn ? [ownConfig] : []),
    daemonSet(input, config),
  ];
}

function daemonSet(input: RenderInput, config: string): KubeObject {
  const installTo = "/host/opt/cni/bin";
  return externalDaemonSet(input, {
    name: NAME,
    labels: LABELS,
    selector: { name: NAME },
    priorityClass: "system-node-critical",
    pod: {
      serviceAccountName: NAME,
      automountServiceAccountToken: false,
      hostNetwork: true,
      hostPID: true,
      securityContext: ROOT_POD,
      initContainers: [
        externalContainer(input, "MACVTAP_CNI_IMAGE", {
          name: "install-cni",
          command: ["cp", "-f", "/macvtap-cni", `${installTo}/macvtap`],
          memory: "15Mi",
          securityContext: ANY_HOST_FILES,
          volumeMounts: [{ name: "cni", mountPath: installTo }],
        }),
      ],
      containers: [
        externalContainer(input, "MACVTAP_CNI_IMAGE", {
          name: NAME,
          command: ["/macvtap-deviceplugin", "-v", "3", "-logtostderr"],
          envFrom: [{ configMapRef: { name: config } }],
          memory: "30Mi",
          // It makes interfaces in the network namespace of the node's first process.
          securityContext: PRIVILEGED,
          volumeMounts: [{ name: "deviceplugin", mountPath: DEVICE_PLUGINS }],
        }),
      ],
      volumes: [
        hostVolume("deviceplugin", DEVICE_PLUGINS, "DirectoryOrCreate"),
        hostVolume("cni", cniBinDir(input), "DirectoryOrCreate"),
      ],
    },
  });
}
