/** Every text with which a spec is refused: one table for the API server, which reads the CRD, and for the operator's status. */

import { KEY_TEXT, VALUE_TEXT } from "../../../src/api/legal-names.ts";
import {
  DEVICE_PLUGIN_CONFIG_TEXT,
  MULTUS_REQUIRED,
  NAD_NAMESPACE_TEXT,
  NO_CRI_SOCKET_TEXT,
  SELF_SIGN_FIELDS,
  SELF_SIGN_PREFIX,
} from "../../../src/api/network-addons-config.ts";
import { CUSTOM_PROFILE_TEXT, cipherText } from "../../../src/api/tls-security-profile.ts";
import type { Facts } from "../../../src/operator/watch/facts.ts";
import { REFUSED_AFFINITIES } from "./wrong-affinities.ts";
import { WRONG_LINUX_BRIDGES } from "./wrong-linux-bridges.ts";
import { WRONG_NAME_SERVERS } from "./wrong-name-servers.ts";
import { each, type WrongSpec } from "./wrong-spec.ts";

const SOCKETS = "/run/crio/crio.sock, /run/containerd/containerd.sock, /run/k3s/containerd/containerd.sock";
const NO_CRI_SOCKETS = [
  ...["/dev/null", "/etc/cni", "/proc/1/root/run/crio/crio.sock", "/sys/fs"],
  ...["/run", "/var/run"].flatMap((run) => [run, `${run}/multus`, `${run}/multus/multus.sock`]),
];
const NEVER =
  "invalid mac address. Multicast addressing is not supported. Unicast addressing must be used. The first octet is";
const RANGE = "failed to set mac address range: invalid range.";
const ORDER = `${RANGE} Range end is lesser than or equal to its start.`;
const NO_START = "failed to parse rangeStart because the mac address is invalid";
const NO_END = "failed to parse rangeEnd because the mac address is invalid";
const BOTH_OR_NONE = "both or none of the KubeMacPool ranges needs to be configured";

const range = (rangeStart: string, rangeEnd: string): object => ({ kubeMacPool: { rangeStart, rangeEnd } });
const selfSign = (ca: string, caOverlap: string, cert: string, certOverlap: string): object => ({
  selfSignConfiguration: {
    caRotateInterval: ca,
    caOverlapInterval: caOverlap,
    certRotateInterval: cert,
    certOverlapInterval: certOverlap,
  },
});
const refusedDuration = (value: string, fault: string): WrongSpec => ({
  what: `the duration ${value}`,
  spec: selfSign("48h", "24h", value, "12h"),
  texts: [`${SELF_SIGN_PREFIX}: error parsing certRotateInterval: time: ${fault} duration "${value}"`],
});
const tolerated = (toleration: object, text: string): WrongSpec => ({
  what: `the toleration ${JSON.stringify(toleration)}`,
  spec: { placementConfiguration: { workloads: { tolerations: [toleration] } } },
  texts: [`placementConfiguration.workloads.tolerations[0]: ${text}`],
  atAdmission: [`spec.placementConfiguration.workloads.tolerations[0]: Invalid value`, text],
});
const selected = (nodeSelector: object, text: string): WrongSpec => ({
  what: `the nodeSelector ${JSON.stringify(nodeSelector).slice(0, 60)}`,
  spec: { placementConfiguration: { infra: { nodeSelector } } },
  texts: [`placementConfiguration.infra.nodeSelector: ${text}`],
  atAdmission: [`spec.placementConfiguration.infra.nodeSelector: Invalid value`, text],
});
const cipher = (name: string): WrongSpec => ({
  what: `the cipher "${name}"`,
  spec: { tlsSecurityProfile: { type: "Custom", custom: { ciphers: ["ECDHE-RSA-AES128-GCM-SHA256", name] } } },
  texts: [cipherText(name)],
});

export const WRONG_SPECS: readonly WrongSpec[] = [
  ...WRONG_LINUX_BRIDGES,
  { what: "a first address alone", spec: { kubeMacPool: { rangeStart: "02:00:00:00:00:00" } }, texts: [BOTH_OR_NONE] },
  { what: "a last address alone", spec: range("", "02:00:00:00:00:00"), texts: [BOTH_OR_NONE] },
  { what: "a first address that is none", spec: range("02:00:00:00:00:0g", "02:00:00:00:00:01"), texts: [NO_START] },
  { what: "a last address of 64 bits", spec: range("02:00:00:00:00:00", "02:00:00:00:00:00:00:01"), texts: [NO_END] },
  {
    what: "two addresses that are none",
    spec: range("me", "you"),
    texts: [NO_START],
    atAdmission: [NO_START, NO_END],
  },
  {
    what: "a last address below the first by value",
    spec: range("0a:00:00:00:00:00", "02:00:00:00:00:01"),
    texts: [`${ORDER} start: 0a:00:00:00:00:00 end: 02:00:00:00:00:01`],
  },
  {
    what: "the same address in two notations",
    spec: range("0200.0000.00AB", "02-00-00-00-00-ab"),
    texts: [`${ORDER} start: 02:00:00:00:00:ab end: 02:00:00:00:00:ab`],
  },
  {
    what: "a reversed range that begins with a multicast address",
    spec: range("FF0000000000", "02:00:00:00:00:00"),
    texts: [`${ORDER} start: ff:00:00:00:00:00 end: 02:00:00:00:00:00`],
  },
  {
    what: "a first address that is multicast",
    spec: range("01:00:00:00:00:00", "02:00:00:00:00:00"),
    texts: [`failed to set RangeStart: ${NEVER} 0X1`],
  },
  {
    what: "a last address that is multicast",
    spec: range("02:00:00:00:00:00", "FD-FF-FF-FF-FF-FF"),
    texts: [`failed to set RangeEnd: ${NEVER} 0XFD`],
  },
  {
    what: "the all-zero address",
    spec: range("00:00:00:00:00:00", "00:00:00:00:00:05"),
    texts: ["failed to set RangeStart: invalid mac address. The all-zero address cannot be used"],
  },
  { what: "dynamic networks without multus", spec: { multusDynamicNetworks: {} }, texts: [MULTUS_REQUIRED] },
  ...each(["Lorem ipsum", "/run/../me.sock"], (hostCRISocketPath) => ({
    spec: { multus: {}, multusDynamicNetworks: { hostCRISocketPath } },
    texts: [`\`hostCRISocketPath\` must be one of: ${SOCKETS}`],
  })),
  ...each(NO_CRI_SOCKETS, (hostCRISocketPath) => ({
    spec: { multus: {}, multusDynamicNetworks: { hostCRISocketPath } },
    texts: [NO_CRI_SOCKET_TEXT],
  })),
  {
    what: "an unknown pull policy",
    spec: { imagePullPolicy: "Now" },
    texts: ["requested imagePullPolicy 'Now' is not valid"],
  },
  ...WRONG_NAME_SERVERS,
  ...each(["Mine", "my config", "a/b", "a..b", "-a", "a\n"], (devicePluginConfig) => ({
    spec: { macvtap: { devicePluginConfig } },
    texts: [DEVICE_PLUGIN_CONFIG_TEXT],
  })),
  ...each(["Nads", "my nads", "a.b", "a/b", "-a", "nads --v=9"], (defaultNetworkNADNamespace) => ({
    spec: { kubevirtIpamController: { defaultNetworkNADNamespace } },
    texts: [NAD_NAMESPACE_TEXT],
  })),
  {
    what: "a namespace that is too long",
    spec: { kubevirtIpamController: { defaultNetworkNADNamespace: "n".repeat(64) } },
    texts: ["spec.kubevirtIpamController.defaultNetworkNADNamespace: Too big: expected string to have <=63 characters"],
    atAdmission: ["spec.kubevirtIpamController.defaultNetworkNADNamespace", "Too long: may not be more than 63"],
  },
  {
    what: "one of four durations",
    spec: { selfSignConfiguration: { caRotateInterval: "1h0m0s" } },
    texts: ["caOverlapInterval", "certRotateInterval", "certOverlapInterval"].map(
      (field) => `${SELF_SIGN_PREFIX}: ${field} is missing`,
    ),
  },
  refusedDuration("me", "invalid"),
  refusedDuration("1h.", "invalid"),
  refusedDuration("48", "missing unit in"),
  refusedDuration("1.5", "missing unit in"),
  refusedDuration("1.2.3h", "missing unit in"),
  refusedDuration("1x", 'unknown unit "x" in'),
  refusedDuration("1h30 m", 'unknown unit " m" in'),
  refusedDuration("2hours", 'unknown unit "hours" in'),
  refusedDuration("-1d", 'unknown unit "d" in'),
  ...["9999999999h", "1000000h", "1.5h9999999999999s", "100000h100000h", `${"9".repeat(60)}ns`].map((value) => {
    const { texts, ...row } = refusedDuration(value, "invalid");
    return { ...row, texts: texts.map((text) => `${text}: write at most 999999h`) };
  }),
  {
    what: "durations in which no certificate is renewed in time",
    spec: selfSign("9s", "1ns", "9999ms", "0.5s"),
    texts: SELF_SIGN_FIELDS.map((field) => `${SELF_SIGN_PREFIX}: ${field} has to be at least 10s`),
  },
  {
    what: "durations that are not above zero",
    spec: selfSign("1h", "-1h", "0s", "0"),
    texts: ["caOverlapInterval", "certRotateInterval", "certOverlapInterval"].map(
      (field) => `${SELF_SIGN_PREFIX}: ${field} duration has to be > 0`,
    ),
  },
  {
    what: "durations in the wrong order",
    spec: selfSign("1h", "120m", "3700s", "9999m59s"),
    texts: [
      "caOverlapInterval(2h0m0s) has to be <= caRotateInterval(1h0m0s)",
      "certRotateInterval(1h1m40s) has to be <= caRotateInterval(1h0m0s)",
      "certOverlapInterval(166h39m59s) has to be <= certRotateInterval(1h1m40s)",
    ].map((text) => `${SELF_SIGN_PREFIX}: ${text}`),
    atAdmission: [
      "caOverlapInterval(120m) has to be <= caRotateInterval(1h)",
      "certRotateInterval(3700s) has to be <= caRotateInterval(1h)",
      "certOverlapInterval(9999m59s) has to be <= certRotateInterval(3700s)",
    ].map((text) => `${SELF_SIGN_PREFIX}: ${text}`),
  },
  {
    what: "durations in the wrong order, as Go writes them",
    spec: selfSign("1h0m0s", "2h0m0s", "1h0m0s", "1h0m0s"),
    texts: [`${SELF_SIGN_PREFIX}: caOverlapInterval(2h0m0s) has to be <= caRotateInterval(1h0m0s)`],
  },
  tolerated(
    { key: "a", operator: "Maybe" },
    "operator of a toleration has to be Exists or Equal (Kubernetes 1.35 adds Lt and Gt)",
  ),
  tolerated(
    { key: "a", effect: "Never" },
    "effect of a toleration has to be NoSchedule, PreferNoSchedule or NoExecute",
  ),
  tolerated({ value: "a" }, "a toleration without a key tolerates all taints: its operator has to be Exists"),
  tolerated({ operator: "Exists", value: "a" }, "a toleration with the operator Exists must not have a value"),
  tolerated(
    { operator: "Exists", tolerationSeconds: 5 },
    "a toleration with tolerationSeconds has to have the effect NoExecute",
  ),
  tolerated({ key: "a b", operator: "Exists" }, `key of a toleration ${KEY_TEXT}`),
  tolerated({ key: "a/b/c", operator: "Exists" }, `key of a toleration ${KEY_TEXT}`),
  tolerated({ key: "a", value: "b a r" }, `value of a toleration ${VALUE_TEXT}`),
  tolerated({ key: "a", operator: "Equal", value: "-" }, `value of a toleration ${VALUE_TEXT}`),
  ...["", "a b", "a/b/c", "Zone/a", "/a", "a/", "-a", "a".repeat(64), `${"d".repeat(254)}/a`].map((key) =>
    selected({ "kubernetes.io/os": "linux", [key]: "" }, `each key ${KEY_TEXT}`),
  ),
  ...["b a r", "a/b", "-a", "a.", "linux\n"].map((value) => selected({ zone: value }, `each value ${VALUE_TEXT}`)),
  {
    what: "a value of a label that is too long",
    spec: { placementConfiguration: { infra: { nodeSelector: { zone: "a".repeat(64) } } } },
    texts: ["spec.placementConfiguration.infra.nodeSelector.zone: Too big: expected string to have <=63 characters"],
    atAdmission: ["spec.placementConfiguration.infra.nodeSelector.zone", "Too long: may not be more than 63"],
  },
  {
    what: "1,000 labels",
    spec: {
      placementConfiguration: {
        workloads: { nodeSelector: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`l${n}`, ""])) },
      },
    },
    texts: ["spec.placementConfiguration.workloads.nodeSelector: Too many: must have at most 100 labels"],
    atAdmission: ["spec.placementConfiguration.workloads.nodeSelector: Too many: 1000: must have at most 100 items"],
  },
  {
    what: "10,000 tolerations",
    spec: { placementConfiguration: { infra: { tolerations: Array(10_000).fill({ operator: "Exists" }) } } },
    texts: ["spec.placementConfiguration.infra.tolerations: Too big: expected array to have <=500 items"],
    atAdmission: ["spec.placementConfiguration.infra.tolerations: Too many: 10000: must have at most 500 items"],
  },
  ...REFUSED_AFFINITIES,
  cipher(""),
  cipher("ALL"),
  cipher("@SECLEVEL=0"),
  cipher("ecdhe-rsa-aes128-gcm-sha256"),
  cipher("AES128-SHA:AES256-SHA"),
  ...each([{}, { custom: null }, { intermediate: {} }], (more) => ({
    spec: { tlsSecurityProfile: { type: "Custom", ...more } },
    texts: [CUSTOM_PROFILE_TEXT],
  })),
  {
    what: "an unknown TLS profile",
    spec: { tlsSecurityProfile: { type: "Future" } },
    texts: ['spec.tlsSecurityProfile.type: Invalid option: expected one of ""|"Old"|"Intermediate"|"Modern"|"Custom"'],
    atAdmission: ['spec.tlsSecurityProfile.type: Unsupported value: "Future"'],
  },
  {
    what: "a number for an address",
    spec: { kubeMacPool: { rangeStart: 5, rangeEnd: 6 } },
    texts: ["rangeStart", "rangeEnd"].map(
      (end) => `spec.kubeMacPool.${end}: Invalid input: expected string, received number`,
    ),
    atAdmission: ['spec.kubeMacPool.rangeStart: Invalid value: "integer"'],
    isMistyped: true,
  },
  {
    what: "a quantity for a label",
    spec: { placementConfiguration: { workloads: { nodeSelector: { cpu: 2 } } } },
    texts: ["spec.placementConfiguration.workloads.nodeSelector.cpu: Invalid input: expected string, received number"],
    atAdmission: ['spec.placementConfiguration.workloads.nodeSelector.cpu: Invalid value: "integer"'],
    isMistyped: true,
  },
];

/** What only the operator knows. */
export const WRONG_HERE: readonly (readonly [spec: object, facts: Partial<Facts>, text: string])[] = [
  [
    { multus: {} },
    { openShift: true, multiNetworkDisabled: true },
    "multus has been requested, but is disabled on OpenShift Cluster Network Operator",
  ],
  [
    { multus: {}, multusDynamicNetworks: {} },
    { openShift: true },
    "`multusDynamicNetworks` configuration is not supported on Openshift yet",
  ],
  [{ macvtap: {} }, { openShift: true }, "`macvtap` has been requested, but is not supported on OpenShift"],
];
