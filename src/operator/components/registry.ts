/** Every component of the spec, in the order of the status. */

import type { NetworkAddonsConfigSpec } from "../../api/network-addons-config.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { NO_FACTS } from "../facts.ts";
import type { OperatorSettings } from "../settings.ts";
import { effectiveSpec } from "../spec/effective-spec.ts";
import { type Component, NOTHING_DEPLOYED } from "./component.ts";
import { kubeMacPool } from "./kube-mac-pool.ts";
import { linuxBridge } from "./linux-bridge.ts";

/** The spec may ask for it and it is validated, but this version deploys nothing for it. */
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

/** Every object of every component: all kinds, names and rights that can occur. */
export function renderEverything(settings: OperatorSettings): KubeObject[] {
  const asked = { linuxBridge: {}, kubeMacPool: {} };
  const spec = effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0);
  const facts = { ...NO_FACTS, nodeCount: 2 };
  return COMPONENTS.flatMap(
    (component) => component.render?.({ spec, facts, settings, deployed: NOTHING_DEPLOYED }) ?? [],
  );
}
