/** linuxBridge: CNI executables on every node, the marker of the nodes' bridges, the injection of its resources. */

import { LINUX_BRIDGE_DAEMON_SET } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { identityObjects, READ_CONFIG, rule } from "../manifests/rbac.ts";
import { daemonSet, env, fieldEnv } from "../manifests/workload.ts";
import { bridgeMarkerObjects } from "./bridge-marker.ts";
import type { Component, RenderInput } from "./component.ts";
import { resourceInjectionObjects } from "./resource-injection.ts";

const SERVICE_ACCOUNT = "linux-bridge";
const DEFAULT_CNI_BIN_DIR = "/opt/cni/bin";
/** Where the node's directory appears inside the installer, whatever its path on the node. */
const MOUNTED_CNI_BIN_DIR = "/host/opt/cni/bin";
/** What runtimes and plugins keep on the node, under the node's own paths: plugins called from here need them there. */
const NETNS_DIRECTORY = "/run/netns";
const CNI_RUN_DIRECTORY = "/run/cni";
const CNI_STATE_DIRECTORY = "/var/lib/cni";
/** bridge-marker has 8081 on the same host network. */
const HEALTH_PORT = 8082;

export const linuxBridge: Component = {
  name: "linuxBridge",
  render: (input) => [...installerObjects(input), ...bridgeMarkerObjects(input), ...resourceInjectionObjects(input)],
};

function installerObjects({ spec, settings }: RenderInput): KubeObject[] {
  const cniBinDir = spec.linuxBridge?.cniBinDir || DEFAULT_CNI_BIN_DIR;
  const namespace = settings.operandNamespace;
  const takeOver = spec.linuxBridge?.replaceForeignPlugins === true ? { REPLACE_FOREIGN_PLUGINS: "true" } : {};
  const labels = { name: LINUX_BRIDGE_DAEMON_SET, app: "cni-plugins" };
  return [
    ...identityObjects({
      serviceAccount: SERVICE_ACCOUNT,
      namespace,
      cluster: {
        role: SERVICE_ACCOUNT,
        binding: SERVICE_ACCOUNT,
        rules: [READ_CONFIG, rule("events.k8s.io", ["events"], ["create", "patch", "update"])],
      },
    }),
    daemonSet({
      name: LINUX_BRIDGE_DAEMON_SET,
      namespace,
      labels,
      selector: { name: LINUX_BRIDGE_DAEMON_SET },
      pod: {
        container: "cni-plugins",
        entry: "src/linux-bridge/main.ts",
        // It does little, seldom: a young generation that grows would only hold 20 to 30 MB more on every node.
        nodeFlags: ["--max-semi-space-size=1"],
        image: settings.images.linuxBridge,
        imagePullPolicy: spec.imagePullPolicy,
        env: [
          fieldEnv("NODE_NAME", "spec.nodeName"),
          ...env({ CNI_BIN_DIR: MOUNTED_CNI_BIN_DIR, CNI_BIN_DIR_ON_NODE: cniBinDir, HEALTH_PORT, ...takeOver }),
        ],
        ports: { health: HEALTH_PORT },
        healthPort: HEALTH_PORT,
        memory: "96Mi",
        serviceAccount: SERVICE_ACCOUNT,
        priorityClass: "system-cluster-critical",
        placement: spec.placementConfiguration.workloads,
        hostNetwork: true,
        asRoot: true,
        // To delete interfaces of the node that nobody else does; to write into a CNI directory that belongs to another user.
        addCapabilities: ["NET_ADMIN", "DAC_OVERRIDE"],
        // SELinux lets no ordinary container write into the node's directories.
        seLinuxType: "spc_t",
        hostDirectories: [
          {
            name: "cni-bin",
            hostPath: cniBinDir,
            mountPath: MOUNTED_CNI_BIN_DIR,
          },
          // Only which names there are; namespaces come and go while the pod runs.
          {
            name: "netns",
            hostPath: NETNS_DIRECTORY,
            mountPath: NETNS_DIRECTORY,
            readOnly: true,
            mountPropagation: "HostToContainer",
          },
          { name: "cni-run", hostPath: CNI_RUN_DIRECTORY, mountPath: CNI_RUN_DIRECTORY },
          { name: "cni-state", hostPath: CNI_STATE_DIRECTORY, mountPath: CNI_STATE_DIRECTORY },
        ],
      },
    }),
  ];
}
