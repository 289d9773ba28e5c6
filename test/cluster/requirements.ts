/**
 * What a test cluster needs from the machine, looked for before anything is started. Each missing thing is one sentence
 * that says what to install or to allow.
 */
import { accessSync, constants } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { runCommand } from "./command.ts";

export class MissingRequirement extends Error {
  override readonly name = "MissingRequirement";
}

/** The search path of our children: administration tools are in sbin, which unprivileged users often lack. */
export function searchPath(env: NodeJS.ProcessEnv = process.env): string {
  const folders = [...(env.PATH ?? "").split(":"), "/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
  return [...new Set(folders.filter((folder) => folder !== ""))].join(":");
}

/** Environment without proxies and the like: everything a cluster talks to is on this machine. */
export const plainEnv = (extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: searchPath(),
  LANG: "C.UTF-8",
  ...extra,
});

export function findExecutable(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  for (const folder of searchPath(env).split(":")) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // not in this folder
    }
  }
  return undefined;
}

export function requireExecutables(names: readonly string[], purpose: string, debianPackage: string): void {
  const missing = names.filter((name) => findExecutable(name) === undefined);
  if (missing.length === 0) return;
  throw new MissingRequirement(
    `${missing.join(", ")} not found, needed ${purpose}: install the package ${debianPackage} (Debian: apt-get install ${debianPackage}).`,
  );
}

/** For processes that must end with the one that started them. */
export const requireSetpriv = (): void =>
  requireExecutables(["setpriv", "flock"], "to end the test control plane with its parent", "util-linux");

/** Nodes enforce NetworkPolicies where it is there. */
export const hasNft = (): boolean => findExecutable("nft") !== undefined;

/** Namespaces of a cluster: as root, or in a user namespace where the kernel allows it. */
export async function requireNamespaces(): Promise<void> {
  if (process.platform !== "linux") {
    throw new MissingRequirement("A test cluster needs Linux namespaces: run it on Linux.");
  }
  requireSetpriv();
  requireExecutables(["unshare", "nsenter", "mount", "umount", "pivot_root"], "to make the nodes' namespaces", "mount");
  requireExecutables(["ip"], "to make the nodes' networks", "iproute2");
  const tried = await runCommand([...unshareCluster(), "true"], { env: plainEnv() });
  if (tried.code !== 0) {
    const who = isRoot() ? "root (missing CAP_SYS_ADMIN)" : `the user ${userName()}`;
    throw new MissingRequirement(
      `The kernel refuses namespaces to ${who} (${tried.stderr.trim()}): run as root, or allow user namespaces (sysctl user.max_user_namespaces=15000; on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0; in a container, start it privileged).`,
    );
  }
}

/** Go, for building the control plane's programs once. The go.mod fetches the exact toolchain by itself. */
export async function requireGo(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const advice = "install Go 1.21 or later (https://go.dev/dl, Debian: apt-get install golang-go)";
  const go = findExecutable("go", env);
  if (go === undefined) {
    throw new MissingRequirement(`go not found, needed once to build Kubernetes and etcd: ${advice}.`);
  }
  const version = await runCommand([go, "env", "GOVERSION"], { env: { ...env, GOTOOLCHAIN: "local" } });
  const [, major = "0", minor = "0"] = /go(\d+)\.(\d+)/.exec(version.stdout) ?? [];
  if (Number(major) < 1 || (Number(major) === 1 && Number(minor) < 21)) {
    throw new MissingRequirement(
      `${go} is ${version.stdout.trim() || "broken"}, too old to build Kubernetes: ${advice}.`,
    );
  }
  return go;
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The namespaces of a whole cluster. The command becomes the child of `unshare` and pid 1; it dies with it. */
export const unshareCluster = (): string[] => [
  ...["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"],
  ...["--propagation", "private"],
  ...(isRoot() ? [] : ["--user", "--map-root-user"]),
];

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
