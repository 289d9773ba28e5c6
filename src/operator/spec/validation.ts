/**
 * Every rule of NetworkAddonsConfig.spec. Admission checks most of them too, but the CRD may be older than the operator.
 * Pure. Texts are interface facts.
 */

import { Address4, Address6 } from "ip-address";
import { formatGoDuration, parseGoDuration } from "../../api/go-duration.ts";
import { parseRange } from "../../api/mac-range.ts";
import {
  CNI_BIN_DIR_PATTERN,
  CNI_BIN_DIR_TEXT,
  CRI_SOCKET_PATHS,
  IMAGE_PULL_POLICIES,
  MULTUS_REQUIRED,
  type NetworkAddonsConfigSpec,
  networkAddonsConfigSpecSchema,
  SELF_SIGN_FIELDS,
  SELF_SIGN_ORDER,
  SELF_SIGN_PREFIX,
} from "../../api/network-addons-config.ts";
import type { Facts } from "../facts.ts";

/** All errors at once. Empty if the spec can be deployed. */
export function validateSpec(spec: unknown, facts: Facts): string[] {
  const parsed = networkAddonsConfigSpecSchema.safeParse(spec);
  if (!parsed.success) {
    return parsed.error.issues.map((issue) => `${["spec", ...issue.path].join(".")}: ${issue.message}`);
  }
  return [
    ...cniBinDirErrors(parsed.data.linuxBridge?.cniBinDir),
    ...multusErrors(parsed.data, facts),
    ...rangeErrors(parsed.data.kubeMacPool),
    ...pullPolicyErrors(parsed.data.imagePullPolicy),
    ...selfSignErrors(parsed.data.selfSignConfiguration),
    ...secondaryDnsErrors(parsed.data.kubeSecondaryDNS),
  ];
}

function cniBinDirErrors(path = ""): string[] {
  return new RegExp(CNI_BIN_DIR_PATTERN).test(path) ? [] : [CNI_BIN_DIR_TEXT];
}

function multusErrors(spec: NetworkAddonsConfigSpec, facts: Facts): string[] {
  const errors: string[] = [];
  if (spec.multus !== undefined && facts.multiNetworkDisabled) {
    errors.push("multus has been requested, but is disabled on OpenShift Cluster Network Operator");
  }
  if (spec.multusDynamicNetworks !== undefined) {
    const socket = spec.multusDynamicNetworks.hostCRISocketPath;
    if (facts.openShift) errors.push("`multusDynamicNetworks` configuration is not supported on Openshift yet");
    if (spec.multus === undefined) errors.push(MULTUS_REQUIRED);
    if (socket !== undefined && socket !== "" && !CRI_SOCKET_PATHS.some((path) => path === socket)) {
      errors.push(`hostCRISocketPath must be one of: ${CRI_SOCKET_PATHS.join(", ")}`);
    }
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

/** In stages: missing values, unreadable values, values that are not positive, wrong order. */
function selfSignErrors(configuration: NetworkAddonsConfigSpec["selfSignConfiguration"]): string[] {
  if (configuration === undefined) return [];
  const refuse = (errors: string[]): string[] => errors.map((error) => `${SELF_SIGN_PREFIX}: ${error}`);

  const missing = SELF_SIGN_FIELDS.filter((field) => (configuration[field] ?? "") === "");
  if (missing.length > 0) return refuse(missing.map((field) => `${field} is missing`));

  const durations = new Map<string, number>();
  const unreadable: string[] = [];
  for (const field of SELF_SIGN_FIELDS) {
    const parsed = parseGoDuration(configuration[field] ?? "");
    if (parsed.ok) durations.set(field, parsed.durationMs);
    else unreadable.push(`error parsing ${field}: ${parsed.reason}`);
  }
  if (unreadable.length > 0) return refuse(unreadable);

  const durationOf = (field: string): number => durations.get(field) ?? 0;
  const notPositive = SELF_SIGN_FIELDS.filter((field) => durationOf(field) <= 0);
  if (notPositive.length > 0) return refuse(notPositive.map((field) => `${field} duration has to be > 0`));

  const describe = (field: string): string => `${field}(${formatGoDuration(durationOf(field))})`;
  return refuse(
    SELF_SIGN_ORDER.filter(([smaller, larger]) => durationOf(smaller) > durationOf(larger)).map(
      ([smaller, larger]) => `${describe(smaller)} has to be <= ${describe(larger)}`,
    ),
  );
}

function secondaryDnsErrors(dns: NetworkAddonsConfigSpec["kubeSecondaryDNS"]): string[] {
  const address = dns?.nameServerIP ?? "";
  return address === "" || isAddress(address) ? [] : ["nameServerIP has to be an IP address"];
}

/** One address: the library takes prefixes as well. */
function isAddress(text: string): boolean {
  return !text.includes("/") && (Address4.isValid(text) || Address6.isValid(text));
}
