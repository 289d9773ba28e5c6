/**
 * The two images that every node has from its start, without a registry: `pause`, which holds a pod's namespaces, and
 * `guest`, a shell with busybox for test pods (imagePullPolicy Never).
 */
import { chmod, copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { mustRun } from "../../cluster/command.ts";
import { findExecutable, MissingRequirement } from "../../cluster/requirements.ts";
import { type ImageConfig, writeOciArchive } from "./oci-archive.ts";

export const PAUSE_IMAGE = "localhost/pause:test";
export const GUEST_IMAGE = "localhost/guest:test";

const UNPRIVILEGED = "65535";
const PATH = "PATH=/bin";

/** Writes the archives into `directory`, and gives their paths. */
export async function writeTestImages(directory: string): Promise<string[]> {
  return [await writePause(directory), await writeGuest(directory)];
}

async function writePause(directory: string): Promise<string> {
  const root = join(directory, "pause-root");
  await mkdir(root, { recursive: true });
  const source = join(import.meta.dirname, "pause.c");
  await mustRun(["cc", "-static", "-Os", "-s", "-o", join(root, "pause"), source]);
  return await archive(directory, "pause", PAUSE_IMAGE, { Entrypoint: ["/pause"], User: UNPRIVILEGED });
}

async function writeGuest(directory: string): Promise<string> {
  const busybox = findExecutable("busybox");
  if (busybox === undefined) {
    throw new MissingRequirement(
      "busybox not found, needed in test pods: install the package busybox-static (Debian: apt-get install busybox-static).",
    );
  }
  const root = join(directory, "guest-root");
  for (const folder of ["bin", "etc", "tmp", "run"]) await mkdir(join(root, folder), { recursive: true });
  await copyFile(busybox, join(root, "bin", "busybox"));
  await chmod(join(root, "bin", "busybox"), 0o755);
  const applets = (await mustRun([busybox, "--list"])).trim().split("\n");
  for (const applet of applets) {
    if (applet !== "busybox") await symlink("busybox", join(root, "bin", applet));
  }
  return await archive(directory, "guest", GUEST_IMAGE, { Cmd: ["/bin/sh"], Env: [PATH] });
}

async function archive(directory: string, name: string, image: string, config: ImageConfig): Promise<string> {
  const file = join(directory, `${name}.tar`);
  const scratch = join(directory, `${name}-scratch`);
  await mkdir(scratch);
  await writeOciArchive({ name: image, root: join(directory, `${name}-root`), config }, scratch, file);
  return file;
}
