/**
 * The shell script that is a container's first process: it lays out the root file system with the volumes, enters it
 * and becomes the container's command.
 */
import { statSync } from "node:fs";
import { posix } from "node:path";
import type { Container, PodSecurityContext, VolumeMount } from "kubernetes-types/core/v1.js";
import { baseTree, bindTree, enterTree } from "../base-tree.ts";
import { shellQuote } from "../command.ts";
import type { Environment } from "./environment.ts";
import type { Image } from "./images.ts";

export interface ContainerScript {
  readonly container: Container;
  readonly podSecurity: PodSecurityContext;
  readonly image: Image;
  /** Complete command line. */
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly hostname: string;
  /** Lines of /etc/hosts. */
  readonly hosts: readonly string[];
  /** File on the node in which the program may say why it ends. */
  readonly terminationLog: string;
  /** An empty directory. */
  readonly mountPoint: string;
  /** Path on the node by volume name. */
  readonly volumes: ReadonlyMap<string, string>;
}

/** Descriptor on which the script says that the container is complete and its command comes next. */
export const STARTED_FD = 3;

const TERMINATION_LOG = "/dev/termination-log";

/** Throws when the container asks for something that can't be given. */
export function containerScript(script: ContainerScript): string {
  const { container, image, mountPoint, hostname, hosts } = script;
  const below = (path: string): string => posix.normalize(path).slice(1);
  return [
    "set -e",
    "umask 022",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    `mount -t tmpfs -o mode=755 container ${shellQuote(mountPoint)}`,
    `cd ${shellQuote(mountPoint)}`,
    ...baseTree({ hostname, hosts }),
    // What an image has in there is its own; the machine's /usr is read-only.
    "mount -t tmpfs -o mode=755 src usr/src",
    ...image.contents.flatMap(([source, target]) => bindTree(source, below(target), true, isFile(source))),
    `: > ${shellQuote(script.terminationLog)}; chmod 666 ${shellQuote(script.terminationLog)}`,
    ...bindTree(script.terminationLog, below(TERMINATION_LOG), false, true),
    ...(container.volumeMounts ?? []).flatMap((mount) => bindVolume(mount, script)),
    ...(container.securityContext?.readOnlyRootFilesystem ? ['mount -o remount,bind,ro "$PWD"'] : []),
    ...enterTree(),
    `cd ${shellQuote(container.workingDir ?? "/")}`,
    `echo started >&${STARTED_FD}`,
    `exec ${STARTED_FD}>&-`,
    `exec ${commandLine(script).map(shellQuote).join(" ")}`,
  ].join("\n");
}

function bindVolume(mount: VolumeMount, { volumes, container }: ContainerScript): string[] {
  const { name, mountPath, subPath, readOnly = false, mountPropagation = "None" } = mount;
  const volume = volumes.get(name);
  if (volume === undefined) throw new Error(`container ${container.name} mounts the unknown volume ${name}`);
  if (mountPropagation === "Bidirectional") throw new Error("mountPropagation Bidirectional is not supported");
  const source = subPath === undefined ? volume : posix.join(volume, subPath);
  const target = posix.normalize(mountPath).slice(1);
  return [
    ...(subPath === undefined ? [] : [`[ -e ${shellQuote(source)} ] || mkdir -p ${shellQuote(source)}`]),
    ...bindTree(source, target, readOnly, isFile(source)),
    ...(mountPropagation === "None" ? [`mount --make-private ${shellQuote(target)}`] : []),
  ];
}

/** With the environment and the rights that the security context leaves. */
function commandLine({ container, podSecurity, argv, env, image }: ContainerScript): string[] {
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [...confinement(container, podSecurity, image.user), "env", "-i", ...assignments, ...image.init, ...argv];
}

/**
 * Root keeps the capabilities that are not dropped. Another user is played by a user namespace of its own: without
 * root on the machine only one user exists in a node. Such a process has no capability, but file permissions see the
 * node's root.
 */
function confinement(container: Container, pod: PodSecurityContext, imageUser: number): string[] {
  const own = container.securityContext ?? {};
  const user = own.runAsUser ?? pod.runAsUser ?? imageUser;
  const group = own.runAsGroup ?? pod.runAsGroup ?? user;
  if (user === 0 && (own.runAsNonRoot ?? pod.runAsNonRoot)) {
    throw new Error("container has runAsNonRoot and image will run as root");
  }
  const { drop = [], add = [] } = own.capabilities ?? {};
  const capability = (name: string): string => name.toLowerCase().replace(/^cap_/, "");
  const bounds = [...drop.map((name) => `-${capability(name)}`), ...add.map((name) => `+${capability(name)}`)];
  const limits = [
    ...(own.allowPrivilegeEscalation === false ? ["--no-new-privs"] : []),
    ...(user === 0 && bounds.length > 0 && !own.privileged ? [`--bounding-set=${bounds.join(",")}`] : []),
  ];
  return [
    ...(user === 0 ? [] : ["unshare", "--user", `--map-user=${user}`, `--map-group=${group}`]),
    ...(limits.length === 0 ? [] : ["setpriv", ...limits]),
  ];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
}
