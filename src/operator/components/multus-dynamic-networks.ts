/** multusDynamicNetworks: the daemon that has Multus plug networks into running pods and unplug them. Needs multus. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { identityObjects } from "../manifests/rbac.ts";
import { fieldEnv } from "../manifests/workload.ts";
import type { Component, RenderInput } from "./component.ts";
import {
  externalContainer,
  externalDaemonSet,
  HOST_FILES,
  hostVolume,
  jsonConfigMap,
  ROOT_POD,
} from "./external-component.ts";
import { ATTACHING_RIGHTS, MULTUS_SOCKET_DIR } from "./multus.ts";

const NAME = "dynamic-networks-controller";
const CONFIG_MAP = "dynamic-networks-controller-config";
const CONFIG_FILE = "dynamic-networks-config.json";
const CONFIG_DIR = "/etc/dynamic-networks-controller";
const LABELS = { tier: "node", app: NAME };
const SELECTOR = { name: NAME };
/** For nodes that do not report their runtime, as existing clusters have it. */
const DEFAULT_CRI_SOCKET = "/run/crio/crio.sock";

export const multusDynamicNetworks: Component = {
  name: "multusDynamicNetworks",
  hostPaths: (input) => (input.facts.openShift ? [] : [criSocketOf(input)]),
  render: (input) => (input.facts.openShift ? [] : objects(input)),
};

function objects(input: RenderInput): KubeObject[] {
  const namespace = input.settings.operandNamespace;
  const criSocket = criSocketOf(input);
  const configMap = controllerConfig(input, criSocket);
  return [
    ...identityObjects({
      serviceAccount: NAME,
      namespace,
      labels: LABELS,
      cluster: {
        role: NAME,
        binding: NAME,
        rules: ATTACHING_RIGHTS,
      },
    }),
    configMap,
    daemonSet(input, configMap, criSocket),
  ];
}

function criSocketOf({ spec, facts }: RenderInput): string {
  return spec.multusDynamicNetworks?.hostCRISocketPath || facts.criSocket || DEFAULT_CRI_SOCKET;
}

function controllerConfig(input: RenderInput, criSocket: string): KubeObject {
  const config = {
    criSocketPath: `/host${criSocket}`,
    multusSocketPath: `/host${MULTUS_SOCKET_DIR}/multus.sock`,
  };
  return jsonConfigMap(input, { name: CONFIG_MAP, labels: LABELS, file: CONFIG_FILE }, config);
}

function daemonSet(input: RenderInput, configMap: KubeObject, criSocket: string): KubeObject {
  const asksMultus = {
    exec: {
      command: ["curl", "--fail", "--unix-socket", `/host${MULTUS_SOCKET_DIR}/multus.sock`, "localhost/healthz"],
    },
    initialDelaySeconds: 15,
    periodSeconds: 5,
  };
  return externalDaemonSet(input, {
    name: `${NAME}-ds`,
    labels: { ...LABELS, name: NAME },
    selector: SELECTOR,
    priorityClass: "system-cluster-critical",
    configuration: [configMap],
    pod: {
      serviceAccountName: NAME,
      terminationGracePeriodSeconds: 10,
      // Both sockets belong to root.
      securityContext: ROOT_POD,
      containers: [
        externalContainer(input, "MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE", {
          name: NAME,
          command: ["/dynamic-networks-controller"],
          args: [`-config=${CONFIG_DIR}/${CONFIG_FILE}`, "-v=5"],
          env: [fieldEnv("NODE_NAME", "spec.nodeName")],
          memory: "50Mi",
          securityContext: HOST_FILES,
          livenessProbe: asksMultus,
          readinessProbe: asksMultus,
          volumeMounts: [
            { name: "config", mountPath: CONFIG_DIR, readOnly: true },
            // The directory, because a restarted Multus makes a new socket in it.
            { name: "multus-socket", mountPath: `/host${MULTUS_SOCKET_DIR}` },
            { name: "cri-socket", mountPath: `/host${criSocket}` },
          ],
        }),
      ],
      volumes: [
        { name: "config", configMap: { name: CONFIG_MAP, items: [{ key: CONFIG_FILE, path: CONFIG_FILE }] } },
        hostVolume("multus-socket", MULTUS_SOCKET_DIR, "DirectoryOrCreate"),
        hostVolume("cri-socket", criSocket, "Socket"),
      ],
    },
  });
}
