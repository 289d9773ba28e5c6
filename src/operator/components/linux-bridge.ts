/** linuxBridge: the CNI plugins on every node, the bridge-marker, the injection of bridge resources. */

import { posix } from "node:path";
import { IDLE_NODE_FLAGS } from "../../api/image.ts";
import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { K3S_CURRENT, K3S_CURRENT_TEXT } from "../../api/linux-bridge-config.ts";
import { LINUX_BRIDGE_DAEMON_SET } from "../../api/names.ts";
import { NETNS_DIRECTORIES } from "../../api/netns-directories.ts";
import { INSTALLER_HEALTH_PORT, INSTALLER_METRICS_PORT } from "../../api/node-ports.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { denyingPolicy } from "../manifests/admission-policy.ts";
import { NODE_NAME_CLAIM } from "../manifests/own-node-policy.ts";
import { ASK_WHO_MAY, identityObjects, READ_CONFIG, rule } from "../manifests/rbac.ts";
import { nodeMetrics } from "../manifests/webhook-service.ts";
import { daemonSet, env, fieldEnv, nodeProbes } from "../manifests/workload.ts";
import { bridgeMarkerObjects } from "./bridge-marker.ts";
import { CNI_BIN_DIR_ON_NODE, cniBinDir, formerCniBinDirs, formerEnv, formerMounts } from "./cni-directories.ts";
import type { Component, RenderInput } from "./component.ts";
import { LINUX_BRIDGE_CERTIFICATES, linuxBridgeWebhookObjects } from "./linux-bridge-webhook.ts";

const SERVICE_ACCOUNT = "linux-bridge";
/** Mount path of the node's CNI directory inside the installer. */
const MOUNTED_CNI_BIN_DIR = "/host/opt/cni/bin";
/** State of runtimes and plugins, mounted under the node's own paths: plugins that the reaper calls expect it there. */
const CNI_RUN_DIRECTORY = "/run/cni";
const CNI_STATE_DIRECTORY = "/var/lib/cni";
/** Of events about objects without a namespace. */
const EVENTS_NAMESPACE = "default";

export const linuxBridge: Component = {
  name: "linuxBridge",
  certificates: LINUX_BRIDGE_CERTIFICATES,
  hostPaths: (input) => [cniBinDir(input)],
  warnings: (input) => (`${posix.resolve(cniBinDir(input))}/`.startsWith(`${K3S_CURRENT}/`) ? [K3S_CURRENT_TEXT] : []),
  render: (input) => [...installerObjects(input), ...bridgeMarkerObjects(input), ...linuxBridgeWebhookObjects(input)],
};

function installerObjects(input: RenderInput): KubeObject[] {
  const { spec, settings, deployed } = input;
  const binDir = cniBinDir(input);
  const namespace = settings.operandNamespace;
  const identity = { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name: LINUX_BRIDGE_DAEMON_SET };
  const former = formerCniBinDirs(binDir, deployed(identity));
  const healthPort = spec.linuxBridge?.installerHealthPort ?? INSTALLER_HEALTH_PORT;
  const probes = nodeProbes(spec.linuxBridge?.healthProbeAddress, healthPort);
  const takeOver = spec.linuxBridge?.replaceForeignPlugins === true ? { REPLACE_FOREIGN_PLUGINS: "true" } : {};
  const labels = { name: LINUX_BRIDGE_DAEMON_SET, app: "cni-plugins" };
  return [
    ...identityObjects({
      serviceAccount: SERVICE_ACCOUNT,
      namespace,
      cluster: {
        role: SERVICE_ACCOUNT,
        binding: SERVICE_ACCOUNT,
        rules: [READ_CONFIG, rule("events.k8s.io", ["events"], ["create"]), ...ASK_WHO_MAY],
      },
    }),
    ...eventsPolicy(namespace),
    nodeMetrics("linux-bridge-metrics", namespace, labels, { name: LINUX_BRIDGE_DAEMON_SET }, INSTALLER_METRICS_PORT),
    daemonSet({
      name: LINUX_BRIDGE_DAEMON_SET,
      namespace,
      labels,
      selector: { name: LINUX_BRIDGE_DAEMON_SET },
      pod: {
        container: "cni-plugins",
        process: "linux-bridge",
        nodeFlags: IDLE_NODE_FLAGS,
        image: settings.images.linuxBridge,
        imagePullPolicy: spec.imagePullPolicy,
        imagePullSecrets: settings.imagePullSecrets,
        env: [
          fieldEnv("NODE_NAME", "spec.nodeName"),
          ...env({
            CNI_BIN_DIR: MOUNTED_CNI_BIN_DIR,
            [CNI_BIN_DIR_ON_NODE]: binDir,
            HEALTH_PORT: healthPort,
            METRICS_PORT: INSTALLER_METRICS_PORT,
            ...takeOver,
          }),
          ...formerEnv(former),
          ...probes.env,
        ],
        ...probes.pod,
        memory: "48Mi",
        serviceAccount: SERVICE_ACCOUNT,
        priorityClass: "system-cluster-critical",
        placement: spec.placementConfiguration.workloads,
        hostNetwork: true,
        asRoot: true,
        // NET_ADMIN deletes leftover interfaces; DAC_OVERRIDE writes into a CNI directory that belongs to another user.
        addCapabilities: ["NET_ADMIN", "DAC_OVERRIDE"],
        // SELinux forbids ordinary containers to write into the node's directories.
        seLinuxType: "spc_t",
        hostDirectories: [
          {
            name: "cni-bin",
            hostPath: binDir,
            mountPath: MOUNTED_CNI_BIN_DIR,
          },
          // The reaper reads only the names. Namespaces come and go while the pod runs.
          ...NETNS_DIRECTORIES.map(({ directoryOnNode, directory }, index) => ({
            name: index === 0 ? "netns" : `netns-${index}`,
            hostPath: directoryOnNode,
            mountPath: directory,
            readOnly: true as const,
            mountPropagation: "HostToContainer" as const,
          })),
          { name: "cni-run", hostPath: CNI_RUN_DIRECTORY, mountPath: CNI_RUN_DIRECTORY },
          { name: "cni-state", hostPath: CNI_STATE_DIRECTORY, mountPath: CNI_STATE_DIRECTORY },
          ...formerMounts(former),
        ],
      },
    }),
  ];
}

/** Its events are about the configuration and its node. RBAC knows no object of an event, and its token is on every node. */
function eventsPolicy(namespace: string): KubeObject[] {
  return denyingPolicy({
    name: SERVICE_ACCOUNT,
    labels: {},
    matches: [{ apiGroups: ["events.k8s.io"], apiVersions: ["v1"], resources: ["events"], operations: ["CREATE"] }],
    conditions: [
      {
        name: `is-${SERVICE_ACCOUNT}`,
        expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${SERVICE_ACCOUNT}'`,
      },
    ],
    validations: [
      {
        expression:
          `request.namespace == '${EVENTS_NAMESPACE}' && (object.?regarding.?kind.orValue('') == '${NETWORK_ADDONS_CONFIGS.kind}' || ` +
          "(object.?regarding.?kind.orValue('') == 'Node' && " +
          `request.userInfo.?extra.orValue({})[?'${NODE_NAME_CLAIM}'].orValue([]) == [object.?regarding.?name.orValue('')]))`,
        message: `${SERVICE_ACCOUNT} may write events about the ${NETWORK_ADDONS_CONFIGS.kind} and its own node only`,
      },
    ],
  });
}
