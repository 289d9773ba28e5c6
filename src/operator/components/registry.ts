/** Every component of the spec, in the order in which the status lists them. */

import type { NetworkAddonsConfigSpec } from "../../api/network-addons-config.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { NO_FACTS } from "../facts.ts";
import type { OperatorSettings } from "../settings.ts";
import { effectiveSpec } from "../spec/effective-spec.ts";
import type { Component } from "./component.ts";
import { kubeMacPool } from "./kube-mac-pool.ts";
import { linuxBridge } from "./linux-bridge.ts";

/** Can be asked for, is validated, but this version has nothing to deploy for it. */
const NOT_YET_DEPLOYED: readonly (keyof NetworkAddonsConfigSpec)[] = [
  "multus",
  "multusDynamicNetworks",
  "ovs",
  "macvtap",
  "kubeSecondaryDNS",
  "kubevirtIpamController",
];

export const COMPONENTS: readonly Component[] = [
  linuxBridge,
  kubeMacPool,
  ...NOT_YET_DEPLOYED.map((name): Component => ({ name })),
];

/** Every object of every component, to know what kinds, names and rights there can be. */
export function renderEverything(settings: OperatorSettings): KubeObject[] {
  const asked = { linuxBridge: {}, kubeMacPool: {} };
  const spec = effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0);
  const facts = { ...NO_FACTS, nodeCount: 2 };
  return COMPONENTS.flatMap((component) => component.render?.({ spec, facts, settings }) ?? []);
}
