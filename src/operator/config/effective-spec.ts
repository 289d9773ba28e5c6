/**
 * The spec with its defaults. Defaults are in memory and in the applied ConfigMap, never in the user's object. The random
 * MAC range and the pull policy come from the previously applied spec, once chosen. Pure.
 */

import { formatMac, macFromNumber, parseMac } from "../../api/mac.ts";
import {
  DEFAULT_DEVICE_PLUGIN_CONFIG,
  IMAGE_PULL_POLICIES,
  type ImagePullPolicy,
  type NetworkAddonsConfigSpec,
  PULL_POLICY_FIXED,
  type SelfSignField,
} from "../../api/network-addons-config.ts";
import type { Placement } from "../../api/placement.ts";
import { DEFAULT_WORKLOAD_SELECTOR } from "../watch/node-layout.ts";
import { selfSignErrors } from "./validation.ts";

export interface PoolRange {
  readonly rangeStart: string;
  readonly rangeEnd: string;
}

export type EffectiveSpec = Omit<
  NetworkAddonsConfigSpec,
  "kubeMacPool" | "imagePullPolicy" | "selfSignConfiguration" | "placementConfiguration"
> & {
  readonly kubeMacPool?: PoolRange;
  readonly imagePullPolicy: ImagePullPolicy;
  readonly selfSignConfiguration: Readonly<Record<SelfSignField, string>>;
  readonly placementConfiguration: { readonly infra: Placement; readonly workloads: Placement };
};

/** The previously applied effective spec; nothing on a first run. */
export interface Previous {
  readonly spec: NetworkAddonsConfigSpec | undefined;
  /** Range of an existing MACPool `default`, or of a predecessor's pool. Used if the stored spec has none. */
  readonly poolRange: PoolRange | undefined;
}

type DynamicNetworks = NonNullable<NetworkAddonsConfigSpec["multusDynamicNetworks"]>;
type Macvtap = NonNullable<NetworkAddonsConfigSpec["macvtap"]>;

const DEFAULT_SELF_SIGN: Readonly<Record<SelfSignField, string>> = {
  caRotateInterval: "48h0m0s",
  caOverlapInterval: "24h0m0s",
  certRotateInterval: "24h0m0s",
  certOverlapInterval: "12h0m0s",
};

const DEFAULT_INFRA: Placement = {
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 10, preference: { matchExpressions: [labelExists("node-role.kubernetes.io/control-plane")] } },
        { weight: 1, preference: { matchExpressions: [labelExists("node-role.kubernetes.io/master")] } },
      ],
    },
  },
};

const DEFAULT_WORKLOADS: Placement = {
  nodeSelector: DEFAULT_WORKLOAD_SELECTOR,
  tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }],
};

/** `random` gives numbers from 0 to below 1. The spec has to be valid. */
export function effectiveSpec(spec: NetworkAddonsConfigSpec, previous: Previous, random: () => number): EffectiveSpec {
  const {
    kubeMacPool,
    multusDynamicNetworks,
    macvtap,
    imagePullPolicy,
    selfSignConfiguration,
    placementConfiguration,
    ...rest
  } = spec;
  return {
    ...rest,
    ...(kubeMacPool === undefined ? {} : { kubeMacPool: poolRange(kubeMacPool, previous, random) }),
    ...(multusDynamicNetworks === undefined
      ? {}
      : { multusDynamicNetworks: dynamicNetworks(multusDynamicNetworks, previous) }),
    ...(macvtap === undefined ? {} : { macvtap: devicePlugin(macvtap, previous) }),
    imagePullPolicy: pullPolicy(imagePullPolicy) ?? pullPolicy(previous.spec?.imagePullPolicy) ?? "IfNotPresent",
    selfSignConfiguration: {
      ...DEFAULT_SELF_SIGN,
      ...(selfSignConfiguration ?? usableLifetimes(previous.spec?.selfSignConfiguration)),
    },
    placementConfiguration: {
      infra: placementConfiguration?.infra ?? DEFAULT_INFRA,
      workloads: placementConfiguration?.workloads ?? DEFAULT_WORKLOADS,
    },
  };
}

/** Changes that would break running components. Empty if the new spec may follow the previous one. */
export function unsafeChanges(spec: NetworkAddonsConfigSpec, previous: Previous): string[] {
  const before = pullPolicy(previous.spec?.imagePullPolicy);
  const asked = pullPolicy(spec.imagePullPolicy);
  return before !== undefined && asked !== undefined && asked !== before ? [PULL_POLICY_FIXED] : [];
}

function poolRange(
  asked: NonNullable<NetworkAddonsConfigSpec["kubeMacPool"]>,
  previous: Previous,
  random: () => number,
): PoolRange {
  return (
    bothEnds(asked.rangeStart, asked.rangeEnd) ??
    bothEnds(previous.spec?.kubeMacPool?.rangeStart, previous.spec?.kubeMacPool?.rangeEnd) ??
    bothEnds(previous.poolRange?.rangeStart, previous.poolRange?.rangeEnd) ??
    randomRange(random)
  );
}

function dynamicNetworks(asked: DynamicNetworks, previous: Previous): DynamicNetworks {
  const before = previous.spec?.multusDynamicNetworks?.hostCRISocketPath;
  const hostCRISocketPath = asked.hostCRISocketPath || before;
  return hostCRISocketPath === undefined ? {} : { hostCRISocketPath };
}

function devicePlugin(asked: Macvtap, previous: Previous): Macvtap {
  const before = previous.spec?.macvtap?.devicePluginConfig;
  return { devicePluginConfig: asked.devicePluginConfig || before || DEFAULT_DEVICE_PLUGIN_CONFIG };
}

/** A predecessor may have applied what no process of ours would start with. */
function usableLifetimes(before: NetworkAddonsConfigSpec["selfSignConfiguration"]): typeof before {
  return selfSignErrors(before).length === 0 ? before : undefined;
}

/** As they are written: other software compares them with the spec. */
function bothEnds(rangeStart = "", rangeEnd = ""): PoolRange | undefined {
  return parseMac(rangeStart) === undefined || parseMac(rangeEnd) === undefined ? undefined : { rangeStart, rangeEnd };
}

const ADDRESSES_IN_RANDOM_RANGE = 2 ** 24;

/** 16.7 million locally administered addresses: two random octets after 02. */
function randomRange(random: () => number): PoolRange {
  const prefix = 0x020000 + Math.floor(random() * 0x10000);
  const start = macFromNumber(prefix * ADDRESSES_IN_RANDOM_RANGE);
  const end = macFromNumber((prefix + 1) * ADDRESSES_IN_RANDOM_RANGE - 1);
  if (start === undefined || end === undefined) throw new Error(`prefix ${prefix} is not a MAC prefix`);
  return { rangeStart: formatMac(start), rangeEnd: formatMac(end) };
}

function pullPolicy(text: string | undefined): ImagePullPolicy | undefined {
  return IMAGE_PULL_POLICIES.find((policy) => policy === text);
}

function labelExists(key: string): { readonly key: string; readonly operator: "Exists" } {
  return { key, operator: "Exists" };
}
