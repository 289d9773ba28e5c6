import { MAC_POOLS } from "../../api/kinds.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import { APPLIED_CONFIG_MAP, DEFAULT_MAC_POOL, MAC_POOL_RANGE_CONFIG_MAP } from "../../api/names.ts";
import type { NetworkAddonsConfig } from "../../api/network-addons-config.ts";
import type { MutatingWebhookConfiguration } from "../../kube/client/built-in-kinds.ts";
import { RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { Read } from "../way/facts.ts";
import { type ClusterReader, knownValue } from "./cluster-reader.ts";

/** The range that the operator will take, from where it looks for one, in its order (src/operator/config). */

export interface PlannedRanges {
  /** As they are written. */
  readonly ranges: readonly { readonly start: string; readonly end: string }[];
  /** Where they are written; undefined where they are nowhere: the operator then takes one at random. */
  readonly source: string | undefined;
  /** Whether the NetworkAddonsConfig is there to be changed. */
  readonly hasConfig: boolean;
}

export interface RangeSources {
  readonly config: Read<NetworkAddonsConfig>;
  readonly webhooks: Read<MutatingWebhookConfiguration>;
  /** Namespace of the installation. */
  readonly target: string;
}

export const POOLS = MAC_POOLS as Resource as Resource<MACPool>;

type Ends = { readonly rangeStart?: string | undefined; readonly rangeEnd?: string | undefined } | undefined;
type Looked = Read<PlannedRanges["ranges"]>;

/** What the user may not read is in the way of everything after it. */
export async function plannedRanges(reader: ClusterReader, sources: RangeSources): Promise<Read<PlannedRanges>> {
  const { config, webhooks, target } = sources;
  if ("unknown" in config) return config;
  const hasConfig = config.value !== undefined;
  const places: (readonly [source: string, look: () => Promise<Looked>])[] = [
    ["NetworkAddonsConfig cluster", async () => ({ value: bothEnds(config.value?.spec?.kubeMacPool) })],
    [`ConfigMap ${target}/${APPLIED_CONFIG_MAP}`, () => applied(reader, target)],
    [`MACPool ${DEFAULT_MAC_POOL}`, () => ofPool(reader)],
    ...poolNamespaces(webhooks, target).map((namespace) => {
      const source = `ConfigMap ${namespace}/${MAC_POOL_RANGE_CONFIG_MAP}`;
      return [source, () => ofConfigMap(reader, namespace)] as const;
    }),
  ];
  for (const [source, look] of places) {
    const found = await look();
    if ("unknown" in found) return found;
    if (found.value !== undefined) return { value: { ranges: found.value, source, hasConfig } };
  }
  if ("unknown" in webhooks) return webhooks;
  return { value: { ranges: [], source: undefined, hasConfig } };
}

/** Namespaces to which the webhooks of a MAC pool lead. */
export function webhookNamespaces(configuration: MutatingWebhookConfiguration | undefined): string[] {
  return [
    ...new Set((configuration?.webhooks ?? []).flatMap(({ clientConfig }) => clientConfig.service?.namespace ?? [])),
  ];
}

function poolNamespaces(webhooks: Read<MutatingWebhookConfiguration>, target: string): readonly string[] {
  return [...new Set([target, ...webhookNamespaces(knownValue(webhooks))])];
}

async function applied(reader: ClusterReader, namespace: string): Promise<Looked> {
  const read = await reader.get(RESOURCES.configMaps, { name: APPLIED_CONFIG_MAP, namespace });
  if ("unknown" in read) return read;
  try {
    return { value: bothEnds(JSON.parse(read.value?.data?.applied ?? "{}").kubeMacPool) };
  } catch {
    return { value: undefined };
  }
}

async function ofPool(reader: ClusterReader): Promise<Looked> {
  const read = await reader.get(POOLS, { name: DEFAULT_MAC_POOL });
  return "unknown" in read ? read : { value: read.value?.spec.ranges };
}

async function ofConfigMap(reader: ClusterReader, namespace: string): Promise<Looked> {
  const read = await reader.get(RESOURCES.configMaps, { name: MAC_POOL_RANGE_CONFIG_MAP, namespace });
  if ("unknown" in read) return read;
  const { RANGE_START: rangeStart, RANGE_END: rangeEnd } = read.value?.data ?? {};
  return { value: bothEnds({ rangeStart, rangeEnd }) };
}

function bothEnds(ends: Ends): PlannedRanges["ranges"] | undefined {
  const { rangeStart: start, rangeEnd: end } = ends ?? {};
  return start && end ? [{ start, end }] : undefined;
}
