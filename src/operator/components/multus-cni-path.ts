/**
 * Where multus looks for the plugins of every network, the cluster's first one included. It knows nothing of the runtime's
 * directories, so it gets those that nodes have had. The DaemonSet itself says which these are: there is no record of them. Pure.
 */

import { posix } from "node:path";
import type { DaemonSet } from "../../kube/client/built-in-kinds.ts";
import { DEFAULT_CNI_BIN_DIR } from "./cni-directories.ts";
import type { Deployed } from "./component.ts";

export const CNI_PATH = "CNI_PATH";
const MAX_FORMER = 4;

/**
 * The present directory, former ones with the latest first, and the default one, where most networks put their plugins. A
 * former directory stays: others may have plugins there that the operator does not know. Where a pod can't start, as on a
 * node that can't have one of them, the present one is left alone.
 */
export function cniPath(current: string, deployed: Deployed | undefined): string[] {
  const present = posix.resolve(current);
  if (deployed?.cannotStart) return [present];
  const known = pathOf(deployed);
  if (known[0] === present) return known;
  const former = known.filter((path) => path !== DEFAULT_CNI_BIN_DIR).slice(0, MAX_FORMER);
  return [...new Set([present, ...former, DEFAULT_CNI_BIN_DIR])];
}

function pathOf(deployed: Deployed | undefined): string[] {
  const containers = (deployed?.object as DaemonSet | undefined)?.spec?.template.spec?.containers ?? [];
  const variables = containers.flatMap(({ env = [] }) => env.filter(({ name }) => name === CNI_PATH));
  return variables.flatMap(({ value = "" }) => value.split(":")).filter((path) => path !== "");
}
