/** `NetworkAddonsConfig.spec.linuxBridge`. Part of the contract (`src/api`). */

import * as z from "zod";
import {
  FITTING_PATTERN,
  longPatternText,
  MARKER_PATTERN,
  MARKER_PATTERN_TEXT,
  MAX_MARKER_PATTERN_CHARS,
  MAX_MARKER_PATTERNS,
} from "./bridge-pattern.ts";
import { type CelRule, celRules } from "./cel.ts";
import { injectionSettings, nadLintSetting } from "./linux-bridge-webhook-config.ts";
import {
  BRIDGE_MARKER_HEALTH_PORT,
  BRIDGE_MARKER_METRICS_PORT,
  INSTALLER_HEALTH_PORT,
  INSTALLER_METRICS_PORT,
  KUBERNETES_PORTS,
  kubernetesPortText,
  LOWEST_PORT,
  lowPortText,
  MULTUS_HEALTH_PORT,
  PROBE_ADDRESSES,
} from "./node-ports.ts";

/** Of other listeners of the product on the same host network. */
export const TAKEN_NODE_PORTS: readonly number[] = [
  INSTALLER_HEALTH_PORT,
  INSTALLER_METRICS_PORT,
  BRIDGE_MARKER_METRICS_PORT,
  MULTUS_HEALTH_PORT,
];
export const TAKEN_NODE_PORT_TEXT = `bridgeMarkerHealthPort must not be one of: ${TAKEN_NODE_PORTS.join(", ")}. Daemons of this product listen there on every node`;

/** The same for the installer. */
export const TAKEN_INSTALLER_PORTS: readonly number[] = [
  BRIDGE_MARKER_HEALTH_PORT,
  INSTALLER_METRICS_PORT,
  BRIDGE_MARKER_METRICS_PORT,
  MULTUS_HEALTH_PORT,
];
export const TAKEN_INSTALLER_PORT_TEXT = `installerHealthPort must not be one of: ${TAKEN_INSTALLER_PORTS.join(", ")}. Daemons of this product listen there on every node`;
export const SAME_HEALTH_PORT_TEXT =
  "bridgeMarkerHealthPort and installerHealthPort have to differ: both daemons listen on every node";
export const PROBE_ADDRESS_TEXT = `healthProbeAddress must be one of: ${PROBE_ADDRESSES.join(", ")}`;

/** Of a path. It does not begin with a dot, so that none leads up again. A colon would be the end of a path in CNI_PATH. */
const PATH_PART = "/[A-Za-z0-9_+@-][A-Za-z0-9_+@.-]*";
/** Where nodes have CNI executables, and nothing that belongs to others. */
export const CNI_BIN_DIR_PATTERN =
  `^$|^(/opt|/var/lib/rancher|/var/snap)(${PATH_PART})+/?$|` +
  "^(/var/lib/cni/bin|/home/kubernetes/bin|/run/cni/bin|/usr/lib/cni|/usr/libexec/cni|/usr/local/lib/cni|/var/opt/cni)" +
  `(${PATH_PART})*/?$`;
export const CNI_BIN_DIR_TEXT =
  "cniBinDir has to be a directory below /opt, /var/lib/rancher or /var/snap, or in /var/lib/cni/bin, /home/kubernetes/bin, " +
  "/run/cni/bin, /usr/lib/cni, /usr/libexec/cni, /usr/local/lib/cni or /var/opt/cni. Its parts are of letters, digits and " +
  "_ + @ - and dots, and do not begin with a dot: the installer writes to it as root";

/** k3s points `current` elsewhere at each upgrade, and the pods stay where it led. */
export const K3S_CURRENT = "/var/lib/rancher/k3s/data/current";
export const K3S_CURRENT_TEXT =
  `the plugins are in ${K3S_CURRENT}, which k3s points elsewhere at each upgrade: they stay in the former directory. ` +
  "Restart the DaemonSets after each upgrade. From k3s 1.30.6 and 1.31.2 on, plugins are in " +
  "/var/lib/rancher/k3s/data/cni, which stays: leave cniBinDir unset";

const MAX_WORD_CHARS = 64;
const MAX_PATH_CHARS = 253;

const markerPatterns = (description: string) =>
  z
    .array(
      z
        .string()
        .max(MAX_MARKER_PATTERN_CHARS)
        .meta(
          celRules(
            { rule: `self.matches('${MARKER_PATTERN}')`, message: MARKER_PATTERN_TEXT },
            {
              rule: `self.matches('${FITTING_PATTERN}')`,
              messageExpression: `'${longPatternText("' + self + '")}'`,
              message: longPatternText(".."),
            },
          ),
        ),
    )
    .max(MAX_MARKER_PATTERNS)
    .exactOptional()
    .describe(`${description} Names with the wildcards * and ?.`);

const healthPort = (rule: CelRule, field: string, description: string) =>
  z
    .int()
    .min(0)
    .max(65535)
    .exactOptional()
    .meta({
      description,
      ...celRules(
        rule,
        { rule: `!(self in ${JSON.stringify(KUBERNETES_PORTS)})`, message: kubernetesPortText(field) },
        { rule: `self == 0 || self >= ${LOWEST_PORT}`, message: lowPortText(field) },
      ),
    });

export const linuxBridgeSchema = z
  .object({
    bridgeMarkerHealthPort: healthPort(
      { rule: `!(self in ${JSON.stringify(TAKEN_NODE_PORTS)})`, message: TAKEN_NODE_PORT_TEXT },
      "bridgeMarkerHealthPort",
      "Host port of the bridge marker's health endpoints, from 1024 on. Default: 8081. 0 turns them off.",
    ),
    installerHealthPort: healthPort(
      { rule: `!(self in ${JSON.stringify(TAKEN_INSTALLER_PORTS)})`, message: TAKEN_INSTALLER_PORT_TEXT },
      "installerHealthPort",
      "Host port of the CNI installer's health endpoints, from 1024 on. Default: 8082. 0 turns them off.",
    ),
    healthProbeAddress: z
      .string()
      .max(MAX_WORD_CHARS)
      .exactOptional()
      .meta({
        description:
          "Where the daemons on the nodes answer probes: at the node's address (Node, the default) or at 127.0.0.1 (Loopback).",
        ...celRules({ rule: `self in ${JSON.stringify(PROBE_ADDRESSES)}`, message: PROBE_ADDRESS_TEXT }),
      }),
    markerInclude: markerPatterns("Bridges that the bridge marker publishes. Default: all bridges."),
    markerExclude: markerPatterns(
      "Bridges that the bridge marker does not publish, also if markerInclude names them. Default: no bridge.",
    ),
    markerOnlyWithPorts: z
      .boolean()
      .exactOptional()
      .describe("Whether the bridge marker publishes only bridges that have a port. Default: false."),
    cniBinDir: z
      .string()
      .max(MAX_PATH_CHARS)
      .exactOptional()
      .meta({
        description:
          "Directory on the nodes that holds CNI executables. Default: the directory of the nodes' distribution, mostly /opt/cni/bin. " +
          "A change replaces the pods of every component that installs some, on every node.",
        ...celRules({ rule: `self.matches('${CNI_BIN_DIR_PATTERN}')`, message: CNI_BIN_DIR_TEXT }),
      }),
    replaceForeignPlugins: z
      .boolean()
      .exactOptional()
      .describe("Whether foreign executables named bridge and tuning are replaced. Default: false, they stay."),
    ...injectionSettings,
    nadLint: nadLintSetting,
  })
  .meta({
    description:
      "The CNI plugins bridge and tuning on every node, the bridge-marker, and the injection of bridge resources.",
    ...celRules({
      rule:
        "!has(self.bridgeMarkerHealthPort) || !has(self.installerHealthPort) || self.installerHealthPort == 0 || " +
        "self.bridgeMarkerHealthPort != self.installerHealthPort",
      message: SAME_HEALTH_PORT_TEXT,
      fieldPath: ".installerHealthPort",
    }),
  });
