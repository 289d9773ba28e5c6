/**
 * NetworkAddonsConfig, written by an administrator or the HyperConverged operator. A component is on when its key is
 * present, even empty. Defaults are filled in memory only, so the schema has none.
 */

import * as z from "zod";
import { celRules, macRangeRules } from "./cel.ts";
import { durationRules } from "./cel-durations.ts";
import { LONGEST_INTERVAL, SHORTEST_INTERVAL } from "./go-duration.ts";
import { kubeSecondaryDnsSchema } from "./kube-secondary-dns-config.ts";
import { LABEL_PATTERN, MAX_LABEL, SUBDOMAIN_PATTERN } from "./legal-names.ts";
import { linuxBridgeSchema } from "./linux-bridge-config.ts";
import { CNAO_NAMES } from "./mac-range.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "./names.ts";
import type { ObjectMeta } from "./object-meta.ts";
import { placementConfigurationSchema } from "./placement.ts";
import { tlsSecurityProfileSchema } from "./tls-security-profile.ts";

export const IMAGE_PULL_POLICIES = ["Always", "Never", "IfNotPresent"] as const;
export type ImagePullPolicy = (typeof IMAGE_PULL_POLICIES)[number];

const CRI_SOCKET_PATHS = [
  "/run/crio/crio.sock",
  "/run/containerd/containerd.sock",
  "/run/k3s/containerd/containerd.sock",
] as const;

/** An absolute path. No name in it begins with two dots: Kubernetes refuses `..` in a path of the host. */
export const CRI_SOCKET_PATTERN = "^(/([A-Za-z0-9_-]|[.][A-Za-z0-9_-])[A-Za-z0-9._-]*)*$";
/** No runtime has its socket there; or the pod has something else at this path. /var/run is a link to /run on most nodes. */
export const NO_CRI_SOCKET_PATTERN = "^/((dev|etc|proc|sys)(/.*)?|(var/)?run(/multus(/.*)?)?)$";
export const NO_CRI_SOCKET_TEXT =
  "hostCRISocketPath must not be /run, /var/run or in /dev, /etc, /proc, /sys, /run/multus or /var/run/multus: no container " +
  "runtime has its socket there";
/** For what is no path, in the words that existing suites expect. */
export const CRI_SOCKET_TEXT = `\`hostCRISocketPath\` must be one of: ${CRI_SOCKET_PATHS.join(", ")}`;

export const DEVICE_PLUGIN_CONFIG_PATTERN = `^$|${SUBDOMAIN_PATTERN}`;
export const DEVICE_PLUGIN_CONFIG_TEXT = "devicePluginConfig has to be the name of a ConfigMap";

export const NAD_NAMESPACE_PATTERN = `^$|${LABEL_PATTERN}`;
export const NAD_NAMESPACE_TEXT = "defaultNetworkNADNamespace has to be the name of a namespace";

/** The user's ConfigMap of another name takes the place of this one. */
export const DEFAULT_DEVICE_PLUGIN_CONFIG = "macvtap-deviceplugin-config";

export const SELF_SIGN_FIELDS = [
  "caRotateInterval",
  "caOverlapInterval",
  "certRotateInterval",
  "certOverlapInterval",
] as const;
export type SelfSignField = (typeof SELF_SIGN_FIELDS)[number];

/** Each first field must be at most the second. */
export const SELF_SIGN_ORDER: readonly (readonly [SelfSignField, SelfSignField])[] = [
  ["caOverlapInterval", "caRotateInterval"],
  ["certRotateInterval", "caRotateInterval"],
  ["certOverlapInterval", "certRotateInterval"],
];

export const SELF_SIGN_PREFIX = "failed to validate selfSignConfiguration";
export const MULTUS_REQUIRED = "the `multus` configuration is required";
export const PULL_POLICY_FIXED = "cannot modify ImagePullPolicy configuration once components were deployed";

/** Longer than any valid MAC or duration, so that each value meets its own rule. Bounds the rules' cost. */
const MAX_SHORT_TEXT = 64;
const MAX_TEXT = 253;

/** Of a setting that is taken from the applied configuration where the spec has none. */
const STAYS = "Once set, it stays until you name another value or remove the component.";

const empty = (description: string) => z.object({}).exactOptional().describe(description);
const shortText = (description: string) => z.string().max(MAX_SHORT_TEXT).exactOptional().describe(description);
const text = (description: string) => z.string().max(MAX_TEXT).exactOptional().describe(description);
/** `message` is the operator's too. */
const matching = (
  rule: { readonly max: number; readonly pattern: string; readonly message: string },
  description: string,
) =>
  z
    .string()
    .max(rule.max)
    .exactOptional()
    .meta({ description, ...celRules({ rule: `self.matches('${rule.pattern}')`, message: rule.message }) });

const kubeMacPool = z.object({
  rangeStart: shortText(
    "First MAC address of the pool. If neither end is given, the operator picks a random range once and keeps it.",
  ),
  rangeEnd: shortText("Last MAC address of the pool."),
});

const selfSignConfiguration = z.object({
  caRotateInterval: shortText("Lifetime of the webhooks' certificate authority, as a Go duration. Default: 48h0m0s."),
  caOverlapInterval: shortText("How long before its expiry a certificate authority is replaced. Default: 24h0m0s."),
  certRotateInterval: shortText("Lifetime of the webhooks' serving certificates. Default: 24h0m0s."),
  certOverlapInterval: shortText("How long before its expiry a serving certificate is replaced. Default: 12h0m0s."),
});

export const networkAddonsConfigSpecSchema = z
  .object({
    linuxBridge: linuxBridgeSchema.exactOptional(),
    kubeMacPool: kubeMacPool.exactOptional().meta({
      description: "The MAC pool for virtual machines and pods.",
      ...celRules(
        ...macRangeRules(
          { start: "rangeStart", end: "rangeEnd" },
          { required: false, single: false, texts: CNAO_NAMES },
        ),
      ),
    }),
    multus: empty("Multus, which attaches pods to several networks."),
    multusDynamicNetworks: z
      .object({
        hostCRISocketPath: text(
          "Absolute path of the container runtime's socket on the nodes. Default: the socket that most nodes have. " +
            STAYS,
        ),
      })
      .exactOptional()
      .meta({
        description: "The controller that plugs networks into running pods. Needs multus.",
        ...celRules(
          {
            rule: `!has(self.hostCRISocketPath) || self.hostCRISocketPath.matches('${CRI_SOCKET_PATTERN}')`,
            message: CRI_SOCKET_TEXT,
            fieldPath: ".hostCRISocketPath",
          },
          {
            rule: `!has(self.hostCRISocketPath) || !self.hostCRISocketPath.matches('${NO_CRI_SOCKET_PATTERN}')`,
            message: NO_CRI_SOCKET_TEXT,
            fieldPath: ".hostCRISocketPath",
          },
        ),
      }),
    ovs: empty("The Open vSwitch CNI plugin and its marker."),
    macvtap: z
      .object({
        devicePluginConfig: matching(
          { max: MAX_TEXT, pattern: DEVICE_PLUGIN_CONFIG_PATTERN, message: DEVICE_PLUGIN_CONFIG_TEXT },
          `ConfigMap with the device plugin's configuration. Default: macvtap-deviceplugin-config. ${STAYS}`,
        ),
      })
      .exactOptional()
      .describe("The macvtap CNI plugin and its device plugin."),
    kubeSecondaryDNS: kubeSecondaryDnsSchema.exactOptional(),
    kubevirtIpamController: z
      .object({
        defaultNetworkNADNamespace: matching(
          { max: MAX_LABEL, pattern: NAD_NAMESPACE_PATTERN, message: NAD_NAMESPACE_TEXT },
          "Namespace of the NetworkAttachmentDefinition of the default network.",
        ),
      })
      .exactOptional()
      .describe("Persistent IP addresses for virtual machines."),
    imagePullPolicy: z
      .string()
      .max(MAX_SHORT_TEXT)
      .exactOptional()
      .meta({
        description:
          "When images are pulled: Always, Never or IfNotPresent (the default). It cannot change once components are deployed.",
        ...celRules({
          rule: `self in ${JSON.stringify(["", ...IMAGE_PULL_POLICIES])}`,
          messageExpression: "'requested imagePullPolicy \\'' + self + '\\' is not valid'",
          message: "requested imagePullPolicy is not valid",
        }),
      }),
    selfSignConfiguration: selfSignConfiguration.exactOptional().meta({
      description:
        "Lifetimes of the webhooks' own certificates: all four or none, each of them " +
        `from ${SHORTEST_INTERVAL} to ${LONGEST_INTERVAL}. Once set, they stay until you name others.`,
      ...celRules(...durationRules(SELF_SIGN_FIELDS, SELF_SIGN_ORDER, SELF_SIGN_PREFIX)),
    }),
    placementConfiguration: placementConfigurationSchema.exactOptional(),
    tlsSecurityProfile: tlsSecurityProfileSchema.exactOptional(),
  })
  .meta({
    description: "Components and their configuration.",
    ...celRules({
      rule: "!has(self.multusDynamicNetworks) || has(self.multus)",
      message: MULTUS_REQUIRED,
      fieldPath: ".multusDynamicNetworks",
    }),
  });

export type NetworkAddonsConfigSpec = z.infer<typeof networkAddonsConfigSpecSchema>;

const conditionSchema = z.object({
  type: z.string().describe("Available, Progressing or Degraded; StandingBack while another operator is in charge."),
  status: z.string().describe("True, False or Unknown."),
  reason: z.string().exactOptional().describe("One word for the cause of the last transition."),
  message: z.string().exactOptional().describe("Explanation for people."),
  lastTransitionTime: z.iso.datetime().exactOptional().describe("When the status changed last."),
  lastHeartbeatTime: z.iso.datetime().exactOptional().describe("When the condition was written last."),
});

const networkAddonsConfigStatusSchema = z
  .object({
    operatorVersion: z.string().exactOptional().describe("Version of the operator that wrote this status."),
    targetVersion: z.string().exactOptional().describe("Version that the operator deploys."),
    observedVersion: z.string().exactOptional().describe("Version that was deployed and became available."),
    observedGeneration: z.int().exactOptional().describe("Generation of the spec that this status describes."),
    conditions: z.array(conditionSchema).exactOptional().describe("Available, Progressing and Degraded."),
    containers: z
      .array(
        z.object({
          parentKind: z.string().describe("Deployment or DaemonSet."),
          parentName: z.string().describe("Name of the workload."),
          name: z.string().describe("Name of the container."),
          image: z.string().describe("Image of the container."),
        }),
      )
      .exactOptional()
      .describe("Containers of every workload that is deployed."),
    distributions: z
      .array(z.string())
      .exactOptional()
      .describe("Distributions of Kubernetes that the nodes have, that of most nodes first."),
    components: z
      .array(
        z.object({
          name: z.string().describe("Key of the component in the spec."),
          phase: z.string().describe("Available, Progressing, Degraded or Removing."),
          reason: z.string().exactOptional().describe("One word for why."),
          message: z.string().exactOptional().describe("What is missing and what to do."),
          hostPaths: z
            .array(z.string())
            .exactOptional()
            .describe("Directories and sockets that its pods mount where the nodes' distribution has them."),
        }),
      )
      .exactOptional()
      .describe("One row a component."),
  })
  .describe("What the operator observed.");

export type NetworkAddonsCondition = z.infer<typeof conditionSchema>;
export type NetworkAddonsConfigStatus = z.infer<typeof networkAddonsConfigStatusSchema>;
export type ComponentStatus = NonNullable<NetworkAddonsConfigStatus["components"]>[number];
export type ContainerStatus = NonNullable<NetworkAddonsConfigStatus["containers"]>[number];

export const networkAddonsConfigSchema = z
  .object({
    spec: networkAddonsConfigSpecSchema.exactOptional(),
    status: networkAddonsConfigStatusSchema.exactOptional(),
  })
  .meta({
    description: "The network addons of the cluster. There is one, and its name is cluster.",
    ...celRules(
      {
        rule: `self.metadata.name == '${NETWORK_ADDONS_CONFIG_NAME}'`,
        message: `there is only one NetworkAddonsConfig and its name has to be "${NETWORK_ADDONS_CONFIG_NAME}"`,
        fieldPath: ".metadata.name",
      },
      {
        rule:
          "!has(oldSelf.status) || !has(oldSelf.status.observedVersion) || !has(oldSelf.spec) || !has(self.spec) || " +
          "!has(oldSelf.spec.imagePullPolicy) || !has(self.spec.imagePullPolicy) || " +
          "oldSelf.spec.imagePullPolicy == '' || self.spec.imagePullPolicy == '' || " +
          "oldSelf.spec.imagePullPolicy == self.spec.imagePullPolicy",
        message: PULL_POLICY_FIXED,
        fieldPath: ".spec.imagePullPolicy",
      },
    ),
  });

export type NetworkAddonsConfig = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: NetworkAddonsConfigSpec;
  readonly status?: NetworkAddonsConfigStatus;
};
