/** First starts of what is in the image: far enough to have loaded everything, not far enough to need a cluster. */

import type { PluginName } from "../../../cni-plugins/build/bundle.ts";
import type { Arch } from "../../../cni-plugins/build/toolchain.ts";
import { entryPoint, IMAGE_NODE, IMAGE_ROOT, type ImageProcess, pluginFolder } from "../../../src/api/image.ts";
import { runCommand } from "../../cluster/command.ts";

const TIMEOUT_MS = 120_000;

export interface Start {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface FirstStart extends Start {
  /** In what it prints. */
  readonly says: RegExp;
  readonly code: number;
}

/** In a pod whose service account's token is not mounted, each process ends with a sentence that says so. */
const POD = {
  KUBERNETES_SERVICE_HOST: "127.0.0.1",
  KUBERNETES_SERVICE_PORT: "1",
  POD_NAME: "pod",
  POD_NAMESPACE: "namespace",
  CNI_BIN_DIR: "/tmp",
  NODE_NAME: "node",
};

const ARGUMENTS: Readonly<Partial<Record<ImageProcess, readonly string[]>>> = {
  "bridge-marker": ["-node-name", "node"],
};

export const firstStart = (name: ImageProcess): FirstStart => ({
  command: [IMAGE_NODE, `${IMAGE_ROOT}/${entryPoint(name)}`, ...(ARGUMENTS[name] ?? [])],
  env: POD,
  says: /Cannot read the service account's ca\.crt/,
  code: 1,
});

/** Calls of the CNI executables that change nothing. */
export const pluginStart = (name: PluginName, arch: Arch): FirstStart => {
  const program = `${IMAGE_ROOT}/${pluginFolder(arch)}/${name}`;
  return name === "link-monitor"
    ? { command: [program, "--help"], env: {}, says: /usage: link-monitor/, code: 2 }
    : { command: [program], env: {}, says: new RegExp(`CNI ${name} plugin`), code: 0 };
};

export interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs in the image's file system, read-only, as its user. Needs root. */
export function inImage(root: string, { command, env }: Start): Promise<Ended> {
  const script =
    'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec chroot --userspec=65532:65532 . "$@"';
  return run(["unshare", "--mount", "sh", "-c", script, "sh", root, ...command], env);
}

export async function run(argv: readonly string[], env: Start["env"]): Promise<Ended> {
  const options = { env: { PATH: process.env.PATH, ...env }, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const { code, stdout, stderr } = await runCommand(argv, options);
  return { code, output: `${stdout}${stderr}` };
}
