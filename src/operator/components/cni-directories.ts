/**
 * The container runtime's CNI directories on the nodes, for the components that install plugins there: the present one of
 * executables and former ones. The DaemonSets themselves say which directories their pods have: there is no record of them. Pure.
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
import type { Deployed, RenderInput } from "./component.ts";

export const CNI_BIN_DIR_ON_NODE = "CNI_BIN_DIR_ON_NODE";
export const CNI_PATH = "CNI_PATH";
const FORMER_MOUNT = "former-cni-bin";
const MAX_FORMER = 4;

/** A node has one directory of CNI executables, so the setting of linuxBridge holds for every plugin. */
export function cniBinDir({ spec, facts }: RenderInput): string {
  return spec.linuxBridge?.cniBinDir || facts.layout.cniBinDir;
}

/**
 * Where multus looks for the plugins of every network, the cluster's first one included: the present directory, former ones with
 * the latest first, and `usual`, where the networks of the distribution put their plugins. A former directory stays: others may have plugins
 * there that the operator does not know. Where a pod can't start, as on a node that can't have one of them, the present one is
 * left alone.
 */
export function cniPath(current: string, usual: string, deployed: Deployed | undefined): string[] {
  const present = posix.resolve(current);
  if (deployed?.cannotStart) return [present];
  const known = (variablesOf(deployed).get(CNI_PATH) ?? "").split(":").filter((path) => path !== "");
  if (known[0] === present) return known;
  const former = known.filter((path) => path !== usual).slice(0, MAX_FORMER);
  return [...new Set([present, ...former, usual])];
}

/**
 * After a change of `cniBinDir` the pods of the linux-bridge DaemonSet have the former directory too, and remove the plugins
 * from it once all are in the new one. The latest is the last. A directory is dropped when every pod has had it. Where a pod can't
 * start, as on a node that can't have a former directory, none is left: the plugins in the present one are worth more.
 */
export function formerCniBinDirs(current: string, deployed: Deployed | undefined): FormerCniBinDir[] {
  if (deployed === undefined || deployed.cannotStart) return [];
  const variables = variablesOf(deployed);
  const present = variables.get(CNI_BIN_DIR_ON_NODE);
  const isClean = deployed.rollout.phase === "ready" && deployed.rollout.note === undefined;
  const former = isClean ? [] : parseFormerCniBinDirs(variables.get(FORMER_CNI_BIN_DIRS));
  const used = [...former.map(({ directoryOnNode }) => directoryOnNode), ...(present === undefined ? [] : [present])];
  return [...new Set(used.map((path) => posix.resolve(path)))]
    .filter((path) => path !== posix.resolve(current))
    .map((directoryOnNode, index) => ({ directoryOnNode, directory: `/host/${FORMER_MOUNT}/${index}` }));
}

export function formerEnv(former: readonly FormerCniBinDir[]): EnvVar[] {
  return former.length === 0 ? [] : env({ [FORMER_CNI_BIN_DIRS]: formatFormerCniBinDirs(former) });
}

export function formerMounts(former: readonly FormerCniBinDir[]): NonNullable<PodOptions["hostDirectories"]> {
  return former.map(({ directoryOnNode, directory }, index) => ({
    name: `${FORMER_MOUNT}-${index}`,
    hostPath: directoryOnNode,
    mountPath: directory,
  }));
}

function variablesOf(deployed: Deployed | undefined): ReadonlyMap<string, string | undefined> {
  const containers = (deployed?.object as DaemonSet | undefined)?.spec?.template.spec?.containers ?? [];
  return new Map(containers.flatMap(({ env: own = [] }) => own.map(({ name, value }) => [name, value] as const)));
}
