/**
 * An addon, one file each in this folder. The file says what the addon needs and consists of; nothing else in the operator
 * knows its name. `render` is pure: the same input gives the same objects under their final names. Labels of the product and the
 * owner are added later.
 */

import type { NetworkAddonsConfigSpec } from "../../api/network-addons-config.ts";
import type { KeptCertificates } from "../../certs/cert-manager.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { ObjectIdentity } from "../apply/inventory.ts";
import type { EffectiveSpec } from "../config/effective-spec.ts";
import type { OperatorSettings } from "../config/settings.ts";
import { named, type Rollout } from "../status/rollout.ts";
import type { Facts } from "../watch/facts.ts";
import type { NodeGroup } from "../watch/node-layout.ts";

/** A workload as it is now. */
export interface Deployed {
  readonly object: KubeObject;
  readonly rollout: Rollout;
  readonly cannotStart: boolean;
}

export interface RenderInput {
  readonly spec: EffectiveSpec;
  readonly facts: Facts;
  readonly settings: OperatorSettings;
  /** Undefined where it is not there. */
  readonly deployed: (identity: ObjectIdentity) => Deployed | undefined;
}

export const NOTHING_DEPLOYED: RenderInput["deployed"] = () => undefined;

/** Another product that has to be in the cluster first. */
interface Prerequisite {
  readonly product: string;
  /** Names of its CRDs. They are watched, so that the component follows as soon as they are there. */
  readonly definitions: readonly string[];
  readonly isNeeded: (facts: Facts) => boolean;
}

/** What every configuration has: nobody asks for it by name. */
type StandingPart = "monitoring" | "networkPolicies" | "operatorFence" | "removalGuard";

export interface Component {
  /** Key in the spec: the component is on when the key is present. */
  readonly name: keyof NetworkAddonsConfigSpec | StandingPart;
  /** On whatever the spec says. The status names it only when it fails. */
  readonly standing?: true;
  readonly prerequisites?: readonly Prerequisite[];
  /** Of its webhooks, where the operator keeps them itself. */
  readonly certificates?: KeptCertificates;
  /**
   * What is in the events of pods that get no network because of it, while its own pods run. For a component that the runtime
   * calls for every pod.
   */
  readonly refusalSign?: (facts: Facts) => string | undefined;
  /** What its pods mount of the nodes that distributions have in different places. */
  readonly hostPaths?: (input: RenderInput) => readonly string[];
  /** What works now and may not for long: one sentence each. */
  readonly warnings?: (input: RenderInput) => readonly string[];
  /** One sentence where another installation does the same work: then nothing is touched. */
  readonly otherInstallation?: (facts: Facts) => string | undefined;
  /** Throws one sentence for the status when something that it needs is not given. */
  readonly render: (input: RenderInput) => readonly KubeObject[];
}

/** One sentence for each product that is missing. */
export function missingPrerequisites({ prerequisites = [] }: Component, facts: Facts): string[] {
  return prerequisites.flatMap(({ product, definitions, isNeeded }) => {
    const missing = isNeeded(facts) ? definitions.filter((definition) => !facts.definitions.has(definition)) : [];
    return missing.length === 0
      ? []
      : [`it needs ${product}: install it (the API server does not serve ${missing.join(" and ")})`];
  });
}

export function isOn(component: Component, spec: NetworkAddonsConfigSpec | EffectiveSpec): boolean {
  return component.standing === true || spec[component.name as keyof NetworkAddonsConfigSpec] !== undefined;
}

/** What of its host paths may not last, and one sentence for each distribution whose nodes have them elsewhere. Pure. */
export function hostPathNotes({ name, hostPaths = () => [], warnings }: Component, input: RenderInput): string[] {
  const { facts } = input;
  const own = hostPaths(input);
  const fitting: NodeGroup[] = [];
  const others = new Map<
    string,
    { readonly distribution: string; readonly needed: string; readonly names: string[] }
  >();
  for (const { layout, criSocket = facts.criSocket, nodes } of facts.groups) {
    const theirs = hostPaths({ ...input, facts: { ...facts, layout, criSocket } });
    const missing = theirs.filter((path) => !own.includes(path));
    if (missing.length === 0) {
      fitting.push({ layout, criSocket, nodes });
      continue;
    }
    const { distribution } = layout;
    const needed = listed(missing);
    const names = [...(others.get(`${distribution} ${needed}`)?.names ?? []), ...nodes];
    others.set(`${distribution} ${needed}`, { distribution, needed, names });
  }
  const isAsked = hostPaths(withoutHostPaths(input)).some((path) => !own.includes(path));
  const origin = isAsked ? "" : originOf(fitting, facts.groups);
  const notes = [...others.values()].map(({ distribution, needed, names }) => {
    const [need, its] = names.length === 1 ? ["needs", "its"] : ["need", "their"];
    return (
      `${name} uses ${listed(own)}${origin}. ${named(names)} (${distribution}) ` +
      `${need} ${needed}: ${its} pods get no networks of ${name}`
    );
  });
  return [...(warnings?.(input) ?? []), ...notes];
}

/** Which nodes have these paths. Of nodes half of which need others, no more is said than their number. */
function originOf(fitting: readonly NodeGroup[], groups: readonly NodeGroup[]): string {
  const count = (some: readonly NodeGroup[]): number => some.reduce((sum, { nodes }) => sum + nodes.length, 0);
  const [some, all] = [count(fitting), count(groups)];
  if (some === 0) return "";
  const distributions = [...new Set(fitting.map(({ layout }) => layout.distribution))].join(", ");
  return `, as on ${2 * some > all ? "most" : `${some} of ${all}`} nodes (${distributions})`;
}

/** Without the fields that name such paths. */
function withoutHostPaths(input: RenderInput): RenderInput {
  const { multusDynamicNetworks, linuxBridge, ...spec } = input.spec;
  const { cniBinDir: _, ...bridge } = linuxBridge ?? {};
  const asked = {
    ...spec,
    ...(linuxBridge === undefined ? {} : { linuxBridge: bridge }),
    ...(multusDynamicNetworks === undefined ? {} : { multusDynamicNetworks: {} }),
  };
  return { ...input, spec: asked };
}

/** "a", "a and b", "a, b and c". */
function listed(paths: readonly string[]): string {
  return paths.length < 2 ? paths.join() : `${paths.slice(0, -1).join(", ")} and ${paths.at(-1)}`;
}

/** The lifetimes of certificates, as the process that rotates them reads them from its environment. */
export function certificateIntervals(spec: EffectiveSpec): Record<string, string> {
  const { caRotateInterval, caOverlapInterval, certRotateInterval, certOverlapInterval } = spec.selfSignConfiguration;
  return {
    CA_ROTATE_INTERVAL: caRotateInterval,
    CA_OVERLAP_INTERVAL: caOverlapInterval,
    CERT_ROTATE_INTERVAL: certRotateInterval,
    CERT_OVERLAP_INTERVAL: certOverlapInterval,
  };
}
