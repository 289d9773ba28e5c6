/**
 * The two images that every node has from its start, without a registry: `pause`, which holds a pod's namespaces, and
 * `guest`, a shell with busybox for test pods (imagePullPolicy Never).
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { machineArch } from "../../../cni-plugins/build/toolchain.ts";
import { addIndex, addLayer, addManifest, type Blobs, ociArchive, type RunConfig } from "../../../deploy/image/oci.ts";
import { type Entry, file, type Tree } from "../../../deploy/image/tree.ts";
import { mustRun } from "../../cluster/command.ts";
import { findExecutable, MissingRequirement } from "../../cluster/requirements.ts";

export const PAUSE_IMAGE = "localhost/pause:test";
export const GUEST_IMAGE = "localhost/guest:test";

const CONFIG: RunConfig = { User: "", WorkingDir: "/", Env: ["PATH=/bin"], Entrypoint: [], Cmd: [], Labels: {} };
const UNPRIVILEGED = "65535";
const TIME_S = 0;

/** Writes the archives into `directory`, and gives their paths. */
export async function writeTestImages(directory: string): Promise<string[]> {
  return [await writePause(directory), await writeGuest(directory)];
}

async function writePause(directory: string): Promise<string> {
  const program = join(directory, "pause");
  const source = join(import.meta.dirname, "pause.c");
  await mustRun(["cc", "-static", "-Os", "-s", "-o", program, source]);
  const tree: Tree = new Map([["pause", file(await readFile(program), 0o755)]]);
  const config = { ...CONFIG, Entrypoint: ["/pause"], User: UNPRIVILEGED };
  return await writeArchive(join(directory, "pause.tar"), PAUSE_IMAGE, tree, config);
}

async function writeGuest(directory: string): Promise<string> {
  const busybox = findExecutable("busybox");
  if (busybox === undefined) {
    throw new MissingRequirement(
      "busybox not found, needed in test pods: install the package busybox-static (Debian: apt-get install busybox-static).",
    );
  }
  const applets = (await mustRun([busybox, "--list"])).trim().split("\n");
  const tree = new Map<string, Entry>([
    ...["etc", "run"].map((name): [string, Entry] => [name, { kind: "directory", mode: 0o755 }]),
    ["tmp", { kind: "directory", mode: 0o1777 }],
    ...applets.map((name): [string, Entry] => [`bin/${name}`, { kind: "link", target: "busybox" }]),
    ["bin/busybox", file(await readFile(busybox), 0o755)],
  ]);
  return await writeArchive(join(directory, "guest.tar"), GUEST_IMAGE, tree, { ...CONFIG, Cmd: ["/bin/sh"] });
}

async function writeArchive(archive: string, name: string, tree: Tree, config: RunConfig): Promise<string> {
  const blobs: Blobs = new Map();
  const layer = await addLayer(blobs, tree, TIME_S, name);
  const index = addIndex(blobs, [addManifest(blobs, machineArch(), [layer], config, TIME_S)]);
  await writeFile(archive, ociArchive(blobs, index, name, TIME_S));
  return archive;
}
