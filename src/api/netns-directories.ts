/**
 * Where container runtimes put the names of network namespaces (docs/decisions/082). On most nodes /var/run is a link to
 * /run, and the two are one; on others, as on Talos, they are not. The operator mounts them, the node agent looks in them.
 * Part of the contract (`src/api`).
 */

export interface NetnsDirectory {
  readonly directoryOnNode: string;
  /** Where the pod has it. The image's own /var/run is a link to /run. */
  readonly directory: string;
}

export const NETNS_DIRECTORIES: readonly NetnsDirectory[] = [
  { directoryOnNode: "/run/netns", directory: "/run/netns" },
  { directoryOnNode: "/var/run/netns", directory: "/host/var/run/netns" },
];
