/** What came of one look at the NetworkAddonsConfig; the status is made from it. */

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
    /** Asked for, but there is nothing to deploy in this version. */
    | { readonly kind: "unsupported" }
    | { readonly kind: "removing"; readonly message: string };
}

export type Outcome =
  /** The spec was not touched: wrong, or not reachable from what runs. What ran goes on. */
  | { readonly kind: "refused"; readonly reason: ConfigurationFailure; readonly message: string }
  | {
      readonly kind: "reconciled";
      readonly components: readonly ComponentOutcome[];
      readonly removalFailures: readonly string[];
      /** Deployments and DaemonSets as rendered. */
      readonly workloads: readonly KubeObject[];
    };
