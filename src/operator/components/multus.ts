/**
 * multus: Multus in its thick form, one daemon a node, which calls the plugins of every network of a pod. The runtime calls
 * its shim, which asks the daemon. On OpenShift the Cluster Network Operator deploys it.
 */

import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { NAD_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { warningPolicy } from "../manifests/admission-policy.ts";
import { identityObjects, READ, READ_CONFIG, rule } from "../manifests/rbac.ts";
import { env, fieldEnv } from "../manifests/workload.ts";
import { CNI_PATH, cniBinDir, cniPath } from "./cni-directories.ts";
import type { Component, RenderInput } from "./component.ts";
import {
  ANY_HOST_FILES,
  externalContainer,
  externalDaemonSet,
  hostVolume,
  jsonConfigMap,
  PRIVILEGED,
  ROOT_POD,
} from "./external-component.ts";
import { MOUNTED_CNI_CONFIG_DIR, multusSidecar, RESULT_DIR } from "./multus-sidecar.ts";
import { NETWORK_ATTACHMENT_DEFINITION_CRD } from "./network-plumbing-crds.ts";

const NAME = "multus";
const CONFIG_MAP = "multus-daemon-config";
const CONFIG_FILE = "daemon-config.json";
const LABELS = { tier: "node", app: NAME };
const SELECTOR = { name: "kube-multus-ds-amd64" };
const PROGRAMS = "/usr/src/multus-cni/bin";
/** Where the daemon looks for plugins unless it is told. */
const DAEMON_BIN_DIR = "/opt/cni/bin";
/** The directory of the daemon's socket on the nodes. Other components talk to the daemon. */
export const MULTUS_SOCKET_DIR = "/run/multus";
/** Here the daemon looks for the configuration of a network whose definition has none. */
const NETWORKS_DIR = "/etc/cni/multus/net.d";
/** The daemon's own directory for its configuration. */
const CONFIG_MOUNT = "/etc/cni/net.d/multus.d";
/** Plugins run with this directory as their root. */
const HOST_ROOT = "/hostroot";
/** What every program needs that attaches pods to networks and says so in their annotation network-status. */
export const ATTACHING_RIGHTS = [
  rule(NAD_GROUP, ["network-attachment-definitions"], READ),
  rule("", ["pods"], READ),
  rule("", ["pods/status"], ["update"]),
  rule("", ["events"], ["create", "patch"]),
];

export const multus: Component = {
  name: "multus",
  refusalSign: ({ openShift }) => (openShift ? undefined : "CmdAdd (shim)"),
  hostPaths: (input) => {
    const { openShift, layout } = input.facts;
    return openShift ? [] : [cniBinDir(input), layout.cniConfigDir, layout.kubeletDir];
  },
  render: (input) => (input.facts.openShift ? [] : objects(input)),
};

function objects(input: RenderInput): KubeObject[] {
  const namespace = input.settings.operandNamespace;
  const identity = { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name: NAME };
  const path = cniPath(cniBinDir(input), input.facts.layout.cniBinDir, input.deployed(identity));
  const configMap = daemonConfig(input, path);
  return [
    NETWORK_ATTACHMENT_DEFINITION_CRD,
    ...identityObjects({
      serviceAccount: NAME,
      namespace,
      labels: LABELS,
      cluster: {
        role: NAME,
        binding: NAME,
        rules: [...ATTACHING_RIGHTS, READ_CONFIG],
      },
    }),
    ...changeOfDirectory(input.facts.layout.cniBinDir),
    configMap,
    daemonSet(input, configMap, path),
  ];
}

/** Says what the change costs before it is made: kubectl shows it, also for `--dry-run=server`. `usual`: where none is named. */
function changeOfDirectory(usual: string): KubeObject[] {
  const directory = (object: string): string =>
    `[${object}.?spec.?linuxBridge.?cniBinDir.orValue('')].map(named, named == '' ? '${usual}' : named)`;
  const { group, version, plural } = NETWORK_ADDONS_CONFIGS;
  return warningPolicy({
    name: `${NAME}-cni-bin-dir`,
    labels: LABELS,
    matches: [{ apiGroups: [group], apiVersions: [version], resources: [plural], operations: ["UPDATE"] }],
    conditions: [
      {
        name: "multus-is-on",
        expression: "object.?spec.?multus.hasValue() && oldObject.?spec.?multus.hasValue()",
      },
    ],
    validations: [
      {
        expression: `${directory("object")} == ${directory("oldObject")}`,
        message:
          "a change of linuxBridge.cniBinDir replaces the pods of multus on every node. A pod that starts on a node meanwhile " +
          "waits, or gets the cluster's first network alone. Before it, let the nodes' runtime look for plugins in the new " +
          "directory, too: otherwise no pod starts",
      },
    ],
  });
}

/** `path`: where plugins are looked for, the present directory first. */
function daemonConfig(input: RenderInput, path: readonly string[]): KubeObject {
  const [binDir = ""] = path;
  const config = {
    chrootDir: HOST_ROOT,
    cniVersion: "0.3.1",
    logLevel: "verbose",
    logToStderr: true,
    cniConfigDir: MOUNTED_CNI_CONFIG_DIR,
    // It delegates to the first configuration in this directory and writes its own before it.
    multusConfigFile: "auto",
    multusAutoconfigDir: MOUNTED_CNI_CONFIG_DIR,
    socketDir: `/host${MULTUS_SOCKET_DIR}/`,
    ...(binDir === DAEMON_BIN_DIR ? {} : { binDir }),
  };
  return jsonConfigMap(input, { name: CONFIG_MAP, labels: LABELS, file: CONFIG_FILE }, config);
}

function daemonSet(input: RenderInput, configMap: KubeObject, path: readonly string[]): KubeObject {
  const { layout } = input.facts;
  const binVolume = (index: number): string => (index === 0 ? "cnibin" : `cnibin-${index}`);
  // Under the node's own paths, because the plugins are called by them.
  const binMounts = path.map((directory, index) => ({ name: binVolume(index), mountPath: directory }));
  return externalDaemonSet(input, {
    name: NAME,
    labels: { ...LABELS, name: NAME },
    selector: SELECTOR,
    priorityClass: "system-cluster-critical",
    configuration: [configMap],
    pod: {
      serviceAccountName: NAME,
      hostNetwork: true,
      hostPID: true,
      // The daemon may go on answering for ten seconds before it removes its configuration; then the sidecar ends.
      terminationGracePeriodSeconds: 60,
      securityContext: ROOT_POD,
      initContainers: [
        externalContainer(input, "MULTUS_IMAGE", {
          name: "install-multus-binary",
          command: [`${PROGRAMS}/install_multus`, "-d", "/host/opt/cni/bin", "-t", "thick"],
          memory: "15Mi",
          securityContext: ANY_HOST_FILES,
          volumeMounts: [{ name: "cnibin", mountPath: "/host/opt/cni/bin" }],
        }),
        multusSidecar(input, {
          cniPath: path,
          socket: `/host${MULTUS_SOCKET_DIR}/multus.sock`,
          volumes: { config: "cni", run: "host-run", results: "host-var-lib-cni-results" },
          binMounts,
        }),
      ],
      containers: [
        externalContainer(input, "MULTUS_IMAGE", {
          name: "kube-multus",
          command: [`${PROGRAMS}/multus-daemon`],
          env: [fieldEnv("MULTUS_NODE_NAME", "spec.nodeName"), ...env({ [CNI_PATH]: path.join(":") })],
          memory: "15Mi",
          // It changes its root, enters network namespaces and runs plugins with every right.
          securityContext: PRIVILEGED,
          volumeMounts: [
            { name: "cni", mountPath: MOUNTED_CNI_CONFIG_DIR },
            ...binMounts,
            { name: "host-run", mountPath: "/host/run" },
            { name: "host-var-lib-cni-multus", mountPath: "/var/lib/cni/multus" },
            { name: "host-var-lib-kubelet", mountPath: "/var/lib/kubelet", mountPropagation: "HostToContainer" },
            { name: "host-run-k8s-cni-cncf-io", mountPath: "/run/k8s.cni.cncf.io" },
            { name: "host-run-netns", mountPath: "/run/netns", mountPropagation: "HostToContainer" },
            { name: "multus-daemon-config", mountPath: CONFIG_MOUNT, readOnly: true },
            { name: "multus-conf-dir", mountPath: NETWORKS_DIR, readOnly: true },
            { name: "hostroot", mountPath: HOST_ROOT, mountPropagation: "HostToContainer" },
          ],
        }),
      ],
      volumes: [
        hostVolume("cni", layout.cniConfigDir, "DirectoryOrCreate"),
        ...path.map((directory, index) => hostVolume(binVolume(index), directory, "DirectoryOrCreate")),
        hostVolume("hostroot", "/", "Directory"),
        hostVolume("host-run", "/run", "Directory"),
        hostVolume("host-var-lib-cni-multus", "/var/lib/cni/multus", "DirectoryOrCreate"),
        hostVolume("host-var-lib-cni-results", RESULT_DIR, "DirectoryOrCreate"),
        hostVolume("host-var-lib-kubelet", layout.kubeletDir, "Directory"),
        hostVolume("host-run-k8s-cni-cncf-io", "/run/k8s.cni.cncf.io", "DirectoryOrCreate"),
        hostVolume("host-run-netns", "/var/run/netns", "DirectoryOrCreate"),
        hostVolume("multus-conf-dir", NETWORKS_DIR, "DirectoryOrCreate"),
        {
          name: "multus-daemon-config",
          configMap: { name: CONFIG_MAP, items: [{ key: CONFIG_FILE, path: CONFIG_FILE }] },
        },
      ],
    },
  });
}
