/** The outcome of one reconcile. The status is computed from it. */

import type { KubeObject } from "../../kube/client/resource.ts";
import type { Component } from "../components/component.ts";
import type { ConfigurationFailure } from "./reasons.ts";
import type { Rollout } from "./rollout.ts";

export interface ComponentOutcome {
  /** `records`: the operator's own. */
  readonly name: Component["name"] | "records";
  /** What its pods mount of the nodes that distributions have in different places. */
  readonly hostPaths?: readonly string[];
  readonly state:
    | { readonly kind: "deployed"; readonly workloads: readonly Rollout[] }
    | { readonly kind: "failed"; readonly reason: ConfigurationFailure; readonly message: string }
    | { readonly kind: "removing"; readonly message: string };
}

interface Refused {
  readonly kind: "refused";
  readonly reason: ConfigurationFailure;
  readonly message: string;
  /** What became of the configuration that was applied last. Undefined if there is none. */
  readonly running?: Reconciled | undefined;
}

export interface Reconciled {
  readonly kind: "reconciled";
  readonly components: readonly ComponentOutcome[];
  readonly removalFailures: readonly string[];
  /** What nodes are, most nodes first. */
  readonly distributions: readonly string[];
  /** Rendered Deployments and DaemonSets. */
  readonly workloads: readonly KubeObject[];
}

/** The configuration is being deleted. */
export interface Removing {
  readonly kind: "removing";
  /** By component: what its removal waits for. */
  readonly waiting: ReadonlyMap<string, string>;
  readonly failures: readonly string[];
}

/** Another operator is in charge of the configuration. */
export interface StandingBack {
  readonly kind: "standing-back";
  readonly message: string;
}

export type Outcome = Refused | Reconciled | Removing | StandingBack;
