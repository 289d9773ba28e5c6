/** Every component of the spec, in the order of the status. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { effectiveSpec } from "../config/effective-spec.ts";
import type { OperatorSettings } from "../config/settings.ts";
import { CONSTRAINTS_DEFINITION, constraintsFor } from "../manifests/security-context-constraints.ts";
import { EVERY_FACT } from "../watch/facts.ts";
import { NETWORKS_DEFINITION } from "../watch/platform.ts";
import { type Component, NOTHING_DEPLOYED, type RenderInput } from "./component.ts";
import { kubeMacPool } from "./kube-mac-pool.ts";
import { kubeSecondaryDns } from "./kube-secondary-dns.ts";
import { kubevirtIpamController } from "./kubevirt-ipam-controller.ts";
import { linuxBridge } from "./linux-bridge.ts";
import { macvtap } from "./macvtap.ts";
import { multus } from "./multus.ts";
import { multusDynamicNetworks } from "./multus-dynamic-networks.ts";
import { ovs } from "./ovs.ts";
import { monitoring } from "./standing/monitoring.ts";
import { networkPolicies } from "./standing/network-policies.ts";
import { operatorAdmissionGuard } from "./standing/operator-admission-guard.ts";
import { removalGuard } from "./standing/removal-guard.ts";

export const COMPONENTS: readonly Component[] = [
  linuxBridge,
  kubeMacPool,
  multus,
  multusDynamicNetworks,
  ovs,
  macvtap,
  kubeSecondaryDns,
  kubevirtIpamController,
  monitoring,
  networkPolicies,
  operatorAdmissionGuard,
  removalGuard,
];

/** CRDs of other products on which it depends what is rendered. */
export const PREREQUISITE_DEFINITIONS: readonly string[] = [
  ...COMPONENTS.flatMap(({ prerequisites = [] }) => prerequisites.flatMap(({ definitions }) => definitions)),
  CONSTRAINTS_DEFINITION,
  NETWORKS_DEFINITION,
];

/** What the component consists of, with what the platform demands for its pods. */
export function renderComponent(component: Component, input: RenderInput): KubeObject[] {
  const objects = component.render(input);
  return input.facts.securityContextConstraints ? [...objects, ...constraintsFor(objects)] : [...objects];
}

/** Every object of the components where the cluster is as `facts` say: all kinds, names and rights that can occur. */
export function renderEverything(
  settings: OperatorSettings,
  components = COMPONENTS,
  facts = EVERY_FACT,
): KubeObject[] {
  const asked = Object.fromEntries(COMPONENTS.filter(({ standing }) => !standing).map(({ name }) => [name, {}]));
  const spec = effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0);
  const input = { spec, facts, settings, deployed: NOTHING_DEPLOYED };
  return components.flatMap((component) => renderComponent(component, input));
}
