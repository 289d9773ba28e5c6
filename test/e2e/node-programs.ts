/**
 * The programs of a test node, built from the Go modules in `programs`: a kubelet of each supported end, kube-proxy,
 * containerd, and the plugins of the default network. runc is Debian's, because it needs libseccomp.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  buildMissing,
  type GoBuildReports,
  type GoModule,
  type GoProgram,
  goFlags,
  kubernetesFlags,
  programFolder,
} from "../cluster/control-plane/go-programs.ts";
import { KUBERNETES_VERSION } from "../cluster/control-plane/programs.ts";
import { findExecutable, requireExecutables } from "../cluster/requirements.ts";

/** Of the oldest Kubernetes that the product supports. */
export const OLDEST_KUBERNETES_VERSION = "1.30.14";
export const CONTAINERD_VERSION = "2.2.9";

export type KubeletVersion = typeof KUBERNETES_VERSION | typeof OLDEST_KUBERNETES_VERSION;

/** Absolute paths. */
export interface NodePrograms {
  readonly kubelets: Readonly<Partial<Record<KubeletVersion, string>>>;
  readonly kubeProxy: string;
  /** Folder of containerd, its shim and ctr. */
  readonly containerd: string;
  readonly runc: string;
  /** Folder of ptp, host-local and cnitool. */
  readonly cni: string;
}

interface Release {
  readonly module: GoModule;
  readonly programs: readonly GoProgram[];
}

const directory = (name: string): string => join(import.meta.dirname, "programs", name);
const kubernetes = (name: string): GoProgram => ({ name, goPackage: `k8s.io/kubernetes/cmd/${name}` });

const kubernetesRelease = (version: KubeletVersion, programs: readonly string[]): Release => {
  const minor = version.slice(0, version.lastIndexOf("."));
  return {
    module: {
      cacheName: `node-kubernetes-${minor}`,
      directory: directory(`kubernetes-${minor}`),
      release: `Kubernetes ${version}`,
      flags: kubernetesFlags(version),
    },
    programs: programs.map(kubernetes),
  };
};

const NEWEST = kubernetesRelease(KUBERNETES_VERSION, ["kubelet", "kube-proxy"]);
const OLDEST = kubernetesRelease(OLDEST_KUBERNETES_VERSION, ["kubelet"]);

const CONTAINERD: Release = {
  module: {
    cacheName: "node-containerd",
    directory: directory("containerd"),
    release: `containerd ${CONTAINERD_VERSION}`,
    flags: goFlags(`-s -w -X github.com/containerd/containerd/v2/version.Version=v${CONTAINERD_VERSION}`),
  },
  programs: ["containerd", "containerd-shim-runc-v2", "ctr"].map((name) => ({
    name,
    goPackage: `github.com/containerd/containerd/v2/cmd/${name}`,
  })),
};

const CNI: Release = {
  module: {
    cacheName: "node-cni",
    directory: directory("cni"),
    release: "the CNI reference plugins 1.9.1 and cnitool",
    flags: goFlags(),
  },
  programs: ["plugins/plugins/ipam/host-local", "plugins/plugins/main/ptp", "cni/cnitool"].map((path) => ({
    name: path.slice(path.lastIndexOf("/") + 1),
    goPackage: `github.com/containernetworking/${path}`,
  })),
};

/** Throws MissingRequirement, in one sentence, when something is missing and can't be built. */
export async function ensureNodePrograms(
  versions: readonly KubeletVersion[],
  reports: GoBuildReports = {},
): Promise<NodePrograms> {
  const runc = findRunc(reports.env);
  // One after another: each build takes all cores.
  const cni = await ensure(CNI, reports);
  const containerd = await ensure(CONTAINERD, reports);
  const newest = await ensure(NEWEST, reports);
  const kubelets: Partial<Record<KubeletVersion, string>> = { [KUBERNETES_VERSION]: join(newest, "kubelet") };
  if (versions.includes(OLDEST_KUBERNETES_VERSION)) {
    kubelets[OLDEST_KUBERNETES_VERSION] = join(await ensure(OLDEST, reports), "kubelet");
  }
  return { kubelets, kubeProxy: join(newest, "kube-proxy"), containerd, runc, cni };
}

async function ensure({ module, programs }: Release, reports: GoBuildReports): Promise<string> {
  const folder = await programFolder(module, reports.env ?? process.env);
  await buildMissing(module, () => programs.filter(({ name }) => !existsSync(join(folder, name))), reports);
  return folder;
}

/** Throws MissingRequirement, in one sentence, where there is none. */
export function findRunc(env: NodeJS.ProcessEnv = process.env): string {
  requireExecutables(["runc"], "to run containers", "runc");
  return findExecutable("runc", env) ?? "runc";
}
