/**
 * Every rule of NetworkAddonsConfig.spec. Admission checks most of them too, but the CRD may be older than the operator.
 * Pure. Texts are interface facts.
 */

import { FITTING_PATTERN, longPatternText, MARKER_PATTERN, MARKER_PATTERN_TEXT } from "../../api/bridge-pattern.ts";
import { TOO_LONG_TEXT, TOO_SHORT_TEXT } from "../../api/cel-durations.ts";
import { formatGoDuration, isTooLong, parseGoDuration, SHORTEST_INTERVAL_MS } from "../../api/go-duration.ts";
import { SECONDARY_DNS_RULES } from "../../api/kube-secondary-dns-config.ts";
import { isNamespaceName } from "../../api/legal-names.ts";
import {
  CNI_BIN_DIR_PATTERN,
  CNI_BIN_DIR_TEXT,
  PROBE_ADDRESS_TEXT,
  SAME_HEALTH_PORT_TEXT,
  TAKEN_INSTALLER_PORT_TEXT,
  TAKEN_INSTALLER_PORTS,
  TAKEN_NODE_PORT_TEXT,
  TAKEN_NODE_PORTS,
} from "../../api/linux-bridge-config.ts";
import { namespaceText } from "../../api/linux-bridge-webhook-config.ts";
import { parseRange } from "../../api/mac-range.ts";
import {
  CRI_SOCKET_PATTERN,
  CRI_SOCKET_TEXT,
  DEVICE_PLUGIN_CONFIG_PATTERN,
  DEVICE_PLUGIN_CONFIG_TEXT,
  IMAGE_PULL_POLICIES,
  MULTUS_REQUIRED,
  NAD_NAMESPACE_PATTERN,
  NAD_NAMESPACE_TEXT,
  type NetworkAddonsConfigSpec,
  NO_CRI_SOCKET_PATTERN,
  NO_CRI_SOCKET_TEXT,
  networkAddonsConfigSpecSchema,
  SELF_SIGN_FIELDS,
  SELF_SIGN_ORDER,
  SELF_SIGN_PREFIX,
} from "../../api/network-addons-config.ts";
import {
  KUBERNETES_PORTS,
  kubernetesPortText,
  LOWEST_PORT,
  lowPortText,
  PROBE_ADDRESSES,
} from "../../api/node-ports.ts";
import { SELECTOR_RULES, TOLERATION_RULES } from "../../api/placement.ts";
import { CIPHER_NAME_PATTERN, CUSTOM_PROFILE_TEXT, cipherText } from "../../api/tls-security-profile.ts";
import type { PlatformFacts } from "../watch/platform.ts";

type LinuxBridge = NonNullable<NetworkAddonsConfigSpec["linuxBridge"]>;

/** All errors at once. Empty if the spec can be deployed. */
export function validateSpec(spec: unknown, facts: PlatformFacts): string[] {
  const parsed = networkAddonsConfigSpecSchema.safeParse(spec);
  if (!parsed.success) {
    return parsed.error.issues.map((issue) => `${["spec", ...issue.path].join(".")}: ${issue.message}`);
  }
  return [
    ...linuxBridgeErrors(parsed.data.linuxBridge),
    ...multusErrors(parsed.data, facts),
    ...rangeErrors(parsed.data.kubeMacPool),
    ...pullPolicyErrors(parsed.data.imagePullPolicy),
    ...selfSignErrors(parsed.data.selfSignConfiguration),
    ...nameErrors(parsed.data),
    ...placementErrors(parsed.data.placementConfiguration),
    ...tlsErrors(parsed.data.tlsSecurityProfile ?? {}),
  ];
}

function linuxBridgeErrors(asked: LinuxBridge = {}): string[] {
  const { cniBinDir = "", bridgeMarkerHealthPort = 0, installerHealthPort = 0, healthProbeAddress } = asked;
  const isAddress = PROBE_ADDRESSES.some((known) => known === (healthProbeAddress ?? "Node"));
  const patterns = [...(asked.markerInclude ?? []), ...(asked.markerExclude ?? [])];
  const arePatterns = patterns.every((pattern) => new RegExp(MARKER_PATTERN).test(pattern));
  return [
    ...(new RegExp(CNI_BIN_DIR_PATTERN).test(cniBinDir) ? [] : [CNI_BIN_DIR_TEXT]),
    ...(TAKEN_NODE_PORTS.includes(bridgeMarkerHealthPort) ? [TAKEN_NODE_PORT_TEXT] : []),
    ...(TAKEN_INSTALLER_PORTS.includes(installerHealthPort) ? [TAKEN_INSTALLER_PORT_TEXT] : []),
    ...(installerHealthPort !== 0 && installerHealthPort === bridgeMarkerHealthPort ? [SAME_HEALTH_PORT_TEXT] : []),
    ...portErrors({ bridgeMarkerHealthPort, installerHealthPort }),
    ...(isAddress ? [] : [PROBE_ADDRESS_TEXT]),
    ...(arePatterns ? [] : [MARKER_PATTERN_TEXT]),
    ...patterns.filter((pattern) => !new RegExp(FITTING_PATTERN).test(pattern)).map(longPatternText),
    ...(asked.globalNamespaces ?? []).filter((name) => !isNamespaceName(name)).map(namespaceText),
  ];
}

/** Of ports on the nodes' network. */
function portErrors(ports: Readonly<Record<string, number>>): string[] {
  return Object.entries(ports).flatMap(([field, port]) => {
    if (KUBERNETES_PORTS.includes(port)) return [kubernetesPortText(field)];
    return port === 0 || port >= LOWEST_PORT ? [] : [lowPortText(field)];
  });
}

function multusErrors(spec: NetworkAddonsConfigSpec, facts: PlatformFacts): string[] {
  const errors: string[] = [];
  if (spec.multus !== undefined && facts.multiNetworkDisabled) {
    errors.push("multus has been requested, but is disabled on OpenShift Cluster Network Operator");
  }
  if (spec.multusDynamicNetworks !== undefined) {
    const socket = spec.multusDynamicNetworks.hostCRISocketPath ?? "";
    if (facts.openShift) errors.push("`multusDynamicNetworks` configuration is not supported on Openshift yet");
    if (spec.multus === undefined) errors.push(MULTUS_REQUIRED);
    if (!new RegExp(CRI_SOCKET_PATTERN).test(socket)) errors.push(CRI_SOCKET_TEXT);
    if (new RegExp(NO_CRI_SOCKET_PATTERN).test(socket)) errors.push(NO_CRI_SOCKET_TEXT);
  }
  if (spec.macvtap !== undefined && facts.openShift) {
    errors.push("`macvtap` has been requested, but is not supported on OpenShift");
  }
  return errors;
}

function rangeErrors(pool: NetworkAddonsConfigSpec["kubeMacPool"]): string[] {
  const rangeStart = pool?.rangeStart ?? "";
  const rangeEnd = pool?.rangeEnd ?? "";
  if (rangeStart === "" && rangeEnd === "") return [];
  if (rangeStart === "" || rangeEnd === "") {
    return ["both or none of the KubeMacPool ranges needs to be configured"];
  }
  const parsed = parseRange({ rangeStart, rangeEnd }, { allowSingle: false });
  return parsed.ok ? [] : [parsed.reason];
}

function pullPolicyErrors(policy: string | undefined): string[] {
  if (policy === undefined || policy === "" || IMAGE_PULL_POLICIES.some((known) => known === policy)) return [];
  return [`requested imagePullPolicy '${policy}' is not valid`];
}

/** In stages: missing values, unreadable values, values that are not positive or too short, wrong order. */
export function selfSignErrors(configuration: NetworkAddonsConfigSpec["selfSignConfiguration"]): string[] {
  if (configuration === undefined) return [];
  const refuse = (errors: string[]): string[] => errors.map((error) => `${SELF_SIGN_PREFIX}: ${error}`);

  const missing = SELF_SIGN_FIELDS.filter((field) => (configuration[field] ?? "") === "");
  if (missing.length > 0) return refuse(missing.map((field) => `${field} is missing`));

  const durations = new Map<string, number>();
  const unreadable: string[] = [];
  for (const field of SELF_SIGN_FIELDS) {
    const text = configuration[field] ?? "";
    const parsed = parseGoDuration(text);
    if (isTooLong(text)) unreadable.push(`error parsing ${field}: time: invalid duration "${text}": ${TOO_LONG_TEXT}`);
    else if (parsed.ok) durations.set(field, parsed.durationMs);
    else unreadable.push(`error parsing ${field}: ${parsed.reason}`);
  }
  if (unreadable.length > 0) return refuse(unreadable);

  const durationOf = (field: string): number => durations.get(field) ?? 0;
  const notPositive = SELF_SIGN_FIELDS.filter((field) => durationOf(field) <= 0);
  const tooShort = SELF_SIGN_FIELDS.filter(
    (field) => durationOf(field) > 0 && durationOf(field) < SHORTEST_INTERVAL_MS,
  );
  if (notPositive.length > 0 || tooShort.length > 0) {
    return refuse([
      ...notPositive.map((field) => `${field} duration has to be > 0`),
      ...tooShort.map((field) => `${field} ${TOO_SHORT_TEXT}`),
    ]);
  }

  const describe = (field: string): string => `${field}(${formatGoDuration(durationOf(field))})`;
  return refuse(
    SELF_SIGN_ORDER.filter(([smaller, larger]) => durationOf(smaller) > durationOf(larger)).map(
      ([smaller, larger]) => `${describe(smaller)} has to be <= ${describe(larger)}`,
    ),
  );
}

/** Of what components of other projects get as it is. */
function nameErrors({
  kubeSecondaryDNS: dns = {},
  macvtap,
  kubevirtIpamController: ipam,
}: NetworkAddonsConfigSpec): string[] {
  const checks = [
    [macvtap?.devicePluginConfig, DEVICE_PLUGIN_CONFIG_PATTERN, DEVICE_PLUGIN_CONFIG_TEXT],
    [ipam?.defaultNetworkNADNamespace, NAD_NAMESPACE_PATTERN, NAD_NAMESPACE_TEXT],
  ] as const;
  return [
    ...checks.flatMap(([value = "", pattern, text]) => (new RegExp(pattern).test(value) ? [] : [text])),
    ...SECONDARY_DNS_RULES.filter(
      ({ field, pattern, isRight }) => new RegExp(pattern).test(dns[field] ?? "") !== isRight,
    ).map(({ message }) => message),
  ];
}

function placementErrors(placement: NetworkAddonsConfigSpec["placementConfiguration"] = {}): string[] {
  return Object.entries(placement).flatMap(([half, { nodeSelector = {}, tolerations = [] }]) => [
    ...SELECTOR_RULES.filter(({ holds }) => !holds(nodeSelector)).map(
      ({ message }) => `placementConfiguration.${half}.nodeSelector: ${message}`,
    ),
    ...tolerations.flatMap((toleration, index) =>
      Object.values(TOLERATION_RULES)
        .filter(({ holds }) => !holds(toleration))
        .map(({ message }) => `placementConfiguration.${half}.tolerations[${index}]: ${message}`),
    ),
  ]);
}

function tlsErrors({ type, custom }: NonNullable<NetworkAddonsConfigSpec["tlsSecurityProfile"]>): string[] {
  const isName = new RegExp(CIPHER_NAME_PATTERN);
  const isMissing = type === "Custom" && (custom === undefined || custom === null);
  return [
    ...(isMissing ? [CUSTOM_PROFILE_TEXT] : []),
    ...(custom?.ciphers ?? []).filter((cipher) => !isName.test(cipher)).map(cipherText),
  ];
}
