/**
 * What has to be in the cluster for a configuration: rendered anew, with nothing that the operator remembers. multus keeps the
 * directories of plugins that it had before, which its DaemonSet alone says. Pure.
 */

import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../../../src/api/kinds.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { appliedKind } from "../../../src/operator/apply/applied-kinds.ts";
import { isOn, type RenderInput } from "../../../src/operator/components/component.ts";
import { COMPONENTS, PREREQUISITE_DEFINITIONS, renderComponent } from "../../../src/operator/components/registry.ts";
import { type EffectiveSpec, effectiveSpec } from "../../../src/operator/config/effective-spec.ts";
import type { OperatorSettings } from "../../../src/operator/config/settings.ts";
import { decorate } from "../../../src/operator/manifests/labels.ts";
import { EVERY_FACT } from "../../../src/operator/watch/facts.ts";
import { CRI_SOCKET, NODES } from "../support/operator-harness.ts";
import { CHANCE } from "./incarnation.ts";

export interface Wanted {
  readonly spec: EffectiveSpec;
  /** Rows of the status. */
  readonly components: readonly string[];
  readonly objects: readonly KubeObject[];
}

const DEFINITIONS = new Set(PREREQUISITE_DEFINITIONS);
const FACTS = { ...EVERY_FACT, nodeCount: NODES.length, definitions: DEFINITIONS, criSocket: CRI_SOCKET };
const FIRST = { spec: undefined, poolRange: undefined };

/** `multus`: its DaemonSet in the cluster, if it is there. */
export function wantedBy(
  { metadata, spec: asked = {} }: NetworkAddonsConfig,
  settings: OperatorSettings,
  multus: KubeObject | undefined,
): Wanted {
  const { name = "", uid = "", labels } = metadata;
  const { kind } = NETWORK_ADDONS_CONFIGS;
  const owner = { apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS), kind, name, uid };
  const decoration = {
    version: settings.version,
    configLabels: labels,
    owner: { ...owner, controller: true, blockOwnerDeletion: true },
  };
  const spec = effectiveSpec(asked, FIRST, () => CHANCE);
  const components = COMPONENTS.filter((component) => isOn(component, spec));
  const deployed: RenderInput["deployed"] = ({ kind, name }) =>
    multus !== undefined && kind === multus.kind && name === multus.metadata.name
      ? { object: multus, rollout: { phase: "ready" }, cannotStart: false }
      : undefined;
  const input = { spec, facts: FACTS, settings, deployed };
  return {
    spec,
    components: components.filter(({ standing }) => !standing).map((component) => component.name),
    objects: components
      .flatMap((component) => renderComponent(component, input))
      .map((object) => decorate(object, decoration, { owned: appliedKind(object).removal !== undefined })),
  };
}
