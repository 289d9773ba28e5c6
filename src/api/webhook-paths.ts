/** The paths that webhook configurations name and that the webhook servers serve. Part of the contract. */

export const MAC_POOL_PATHS = {
  pods: "/mutate-pods",
  virtualMachines: "/mutate-virtualmachines",
  instances: "/mutate-virtualmachineinstances",
} as const;

export const INJECT_RESOURCES_PATH = "/inject-resources";
export const LINT_NETWORKS_PATH = "/lint-networks";
