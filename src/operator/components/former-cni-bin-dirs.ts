/**
 * After a change of `cniBinDir` the pods of the linux-bridge DaemonSet have the former directory too, and remove the plugins
 * from it once all are in the new one. The DaemonSet itself says which directories its pods have: there is no record of them.
 */

import { posix } from "node:path";
import {
  FORMER_CNI_BIN_DIRS,
  type FormerCniBinDir,
  formatFormerCniBinDirs,
  parseFormerCniBinDirs,
} from "../../api/former-cni-bin-dirs.ts";
import type { DaemonSet } from "../../kube/client/built-in-kinds.ts";
import { type EnvVar, env, type PodOptions } from "../manifests/workload.ts";
import type { Deployed } from "./component.ts";

export const CNI_BIN_DIR_ON_NODE = "CNI_BIN_DIR_ON_NODE";
const MOUNT = "former-cni-bin";

/**
 * The latest is the last. A directory is dropped when every pod has had it. Where a pod can't start, as on a node that can't
 * have a former directory, none is left: the plugins in the present one are worth more.
 */
export function formerCniBinDirs(current: string, deployed: Deployed | undefined): FormerCniBinDir[] {
  if (deployed === undefined || deployed.cannotStart) return [];
  const variables = variablesOf(deployed.object as DaemonSet);
  const present = variables.get(CNI_BIN_DIR_ON_NODE);
  const isClean = deployed.rollout.phase === "ready" && deployed.rollout.note === undefined;
  const former = isClean ? [] : parseFormerCniBinDirs(variables.get(FORMER_CNI_BIN_DIRS));
  const used = [...former.map(({ directoryOnNode }) => directoryOnNode), ...(present === undefined ? [] : [present])];
  return [...new Set(used.map((path) => posix.resolve(path)))]
    .filter((path) => path !== posix.resolve(current))
    .map((directoryOnNode, index) => ({ directoryOnNode, directory: `/host/${MOUNT}/${index}` }));
}

export function formerEnv(former: readonly FormerCniBinDir[]): EnvVar[] {
  return former.length === 0 ? [] : env({ [FORMER_CNI_BIN_DIRS]: formatFormerCniBinDirs(former) });
}

export function formerMounts(former: readonly FormerCniBinDir[]): NonNullable<PodOptions["hostDirectories"]> {
  return former.map(({ directoryOnNode, directory }, index) => ({
    name: `${MOUNT}-${index}`,
    hostPath: directoryOnNode,
    mountPath: directory,
  }));
}

function variablesOf(daemonSet: DaemonSet): ReadonlyMap<string, string | undefined> {
  const containers = daemonSet.spec?.template.spec?.containers ?? [];
  return new Map(containers.flatMap(({ env: own = [] }) => own.map(({ name, value }) => [name, value] as const)));
}
