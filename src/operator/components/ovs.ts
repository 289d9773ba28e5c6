/** ovs: the CNI plugin for bridges of Open vSwitch, and the marker that publishes them as resources of the node. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { ownNodePolicy } from "../manifests/own-node-policy.ts";
import { identityObjects, rule } from "../manifests/rbac.ts";
import { fieldEnv } from "../manifests/workload.ts";
import { cniBinDir } from "./cni-directories.ts";
import type { Component, RenderInput } from "./component.ts";
import { ANY_HOST_FILES, externalContainer, externalDaemonSet, hostVolume, ROOT_POD } from "./external-component.ts";

const MARKER = "ovs-cni-marker";
const LABELS = { tier: "node", app: "ovs-cni" };
const SELECTOR = { app: "ovs-cni" };
const RESOURCE_PREFIX = "ovs-cni.network.kubevirt.io/";
const OVS_RUN_DIR = "/var/run/openvswitch";
/** The plugin and what it calls to mirror ports. */
const PROGRAMS = ["/ovs", "/ovs-mirror-producer", "/ovs-mirror-consumer"];
const HEALTH_SECONDS = 60;
/** The marker keeps the file fresh from when it has found the socket. On a node without Open vSwitch it waits for that. */
const IS_FRESH = '[ ! -e /tmp/healthy ] || [ -n "$(find /tmp/healthy -mmin -2)" ]';

export const ovs: Component = {
  name: "ovs",
  hostPaths: (input) => [cniBinDir(input)],
  render: objects,
};

function objects(input: RenderInput): KubeObject[] {
  const namespace = input.settings.operandNamespace;
  return [
    ...identityObjects({
      serviceAccount: MARKER,
      namespace,
      labels: LABELS,
      cluster: {
        role: "ovs-cni-marker-cr",
        binding: "ovs-cni-marker-crb",
        rules: [rule("", ["nodes"], ["get"]), rule("", ["nodes/status"], ["patch"])],
      },
    }),
    ...ownNodePolicy({ account: MARKER, namespace, resourcePrefix: RESOURCE_PREFIX, labels: LABELS }),
    daemonSet(input),
  ];
}

function daemonSet(input: RenderInput): KubeObject {
  const installTo = "/host/opt/cni/bin";
  return externalDaemonSet(input, {
    name: "ovs-cni-amd64",
    labels: LABELS,
    selector: SELECTOR,
    priorityClass: "system-node-critical",
    pod: {
      serviceAccountName: MARKER,
      hostNetwork: true,
      securityContext: ROOT_POD,
      initContainers: [
        externalContainer(input, "OVS_CNI_IMAGE", {
          name: "ovs-cni-plugin",
          command: ["cp", "-f", ...PROGRAMS, `${installTo}/`],
          memory: "15Mi",
          securityContext: ANY_HOST_FILES,
          volumeMounts: [{ name: "cnibin", mountPath: installTo }],
        }),
      ],
      containers: [
        externalContainer(input, "OVS_CNI_IMAGE", {
          name: MARKER,
          command: ["/marker"],
          args: [
            ...["-v", "3", "-logtostderr"],
            ...["-node-name", "$(NODE_NAME)"],
            ...["-ovs-socket", `unix:/host${OVS_RUN_DIR}/db.sock`],
            `-healthcheck-interval=${HEALTH_SECONDS}`,
          ],
          env: [fieldEnv("NODE_NAME", "spec.nodeName")],
          memory: "10Mi",
          // The socket belongs to the user of Open vSwitch.
          securityContext: ANY_HOST_FILES,
          livenessProbe: {
            exec: { command: ["sh", "-c", IS_FRESH] },
            initialDelaySeconds: HEALTH_SECONDS,
            periodSeconds: HEALTH_SECONDS,
          },
          volumeMounts: [
            { name: "ovs-var-run", mountPath: `/host${OVS_RUN_DIR}` },
            { name: "tmp", mountPath: "/tmp" },
          ],
        }),
      ],
      volumes: [
        hostVolume("cnibin", cniBinDir(input), "DirectoryOrCreate"),
        hostVolume("ovs-var-run", OVS_RUN_DIR, "DirectoryOrCreate"),
        { name: "tmp", emptyDir: {} },
      ],
    },
  });
}
