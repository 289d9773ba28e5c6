/** The outcome of one reconcile. The status is computed from it. */

import type { NetworkAddonsConfigSpec } from "../../api/network-addons-config.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Rollout } from "./rollout.ts";

export type ConfigurationFailure =
  | "FailedToValidate"
  | "FailedToGetPreviousConfigSpec"
  | "FailedToGetOpenShiftNetworkConfig"
  | "FailedToRender"
  | "FailedToApply"
  | "FailedToDeleteObjects";

export interface ComponentOutcome {
  readonly name: keyof NetworkAddonsConfigSpec;
  readonly state:
    | { readonly kind: "deployed"; readonly workloads: readonly Rollout[] }
    | { readonly kind: "failed"; readonly reason: ConfigurationFailure; readonly message: string }
    /** Requested, but this version deploys nothing for it. */
    | { readonly kind: "unsupported" }
    | { readonly kind: "removing"; readonly message: string };
}

export type Outcome =
  /** The spec was not applied: it is invalid, or an unsafe change. What runs goes on. */
  | { readonly kind: "refused"; readonly reason: ConfigurationFailure; readonly message: string }
  | {
      readonly kind: "reconciled";
      readonly components: readonly ComponentOutcome[];
      readonly removalFailures: readonly string[];
      /** Rendered Deployments and DaemonSets. */
      readonly workloads: readonly KubeObject[];
    };
