/**
 * The control groups of a cluster's nodes, version 1 or 2: one tree for each run, one group in it for each node. A kernel
 * removes a group with nobody, so what a killed run left is removed by the next one: the tree carries the name of the
 * run's directory, which tells who made it (test/cluster/run-directory.ts).
 */
import { existsSync } from "node:fs";
import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MissingRequirement } from "../cluster/requirements.ts";
import { isAbandoned } from "../cluster/run-directory.ts";
import { eventually } from "../support/eventually.ts";

const ROOT = "/sys/fs/cgroup";
const OURS = "cluster-network-addons-test";
const NEEDED = ["cpu", "cpuset", "memory", "pids"];
const REMOVAL_LIMIT_MS = 20_000;

export type CgroupVersion = 1 | 2;

/** In version 1 one mount point for each hierarchy, in version 2 the only one. */
export interface Hierarchies {
  readonly version: CgroupVersion;
  readonly mountPoints: readonly string[];
}

/** Throws MissingRequirement, in one sentence, where nodes can't have their groups. */
export async function findHierarchies(): Promise<Hierarchies> {
  const { version, mountPoints, controllers } = await mounted();
  const missing = NEEDED.filter((name) => !controllers.includes(name));
  if (missing.length > 0) {
    throw new MissingRequirement(
      `This machine has no cgroup controller ${missing.join(", ")} below ${ROOT}: kubelets need it (in a container, start it privileged with --cgroupns=host).`,
    );
  }
  try {
    await Promise.all(mountPoints.map((mountPoint) => access(mountPoint, constants.W_OK)));
  } catch (cause) {
    throw new MissingRequirement(
      `${ROOT} is not writable, and kubelets make control groups there (in a container, start it privileged with --cgroupns=host).`,
      { cause },
    );
  }
  return { version, mountPoints };
}

async function mounted(): Promise<Hierarchies & { readonly controllers: readonly string[] }> {
  const unified = join(ROOT, "cgroup.controllers");
  if (existsSync(unified)) {
    const controllers = (await readFile(unified, "utf8")).trim().split(" ");
    return { version: 2, mountPoints: [ROOT], controllers };
  }
  const lines = (await readFile("/proc/mounts", "utf8")).split("\n").map((line) => line.split(" "));
  // Beside the hierarchies of version 1 there may be one of version 2, in which runc makes groups too.
  const found = lines.filter(([, path, type]) => type?.startsWith("cgroup") && path?.startsWith(`${ROOT}/`));
  return {
    version: 1,
    mountPoints: found.map(([, path = ""]) => path),
    controllers: found.flatMap(([, , , options = ""]) => options.split(",")),
  };
}

export class RunCgroups implements AsyncDisposable {
  readonly #hierarchies: Hierarchies;
  /** Path of the run's group in every hierarchy. */
  readonly path: string;

  private constructor(hierarchies: Hierarchies, run: string) {
    this.#hierarchies = hierarchies;
    this.path = `/${OURS}/${run}`;
  }

  /** Removes what earlier runs left, and makes the groups of this one's nodes. */
  static async create(hierarchies: Hierarchies, run: string, nodes: readonly string[]): Promise<RunCgroups> {
    await Promise.all(hierarchies.mountPoints.map(removeAbandoned));
    const cgroups = new RunCgroups(hierarchies, run);
    for (const node of nodes) await cgroups.makeNode(node);
    return cgroups;
  }

  nodePath(node: string): string {
    return `${this.path}/${node}`;
  }

  async makeNode(node: string): Promise<void> {
    const { version, mountPoints } = this.#hierarchies;
    for (const mountPoint of mountPoints) {
      const group = join(mountPoint, this.nodePath(node));
      await mkdir(group, { recursive: true });
      if (version === 2) await delegate(mountPoint, this.nodePath(node));
      else if (existsSync(join(group, "cpuset.cpus"))) await fillCpuset(mountPoint, this.nodePath(node));
    }
  }

  /** Removes the node's groups when its processes have ended, as a reboot does. */
  async removeNode(node: string): Promise<void> {
    await this.#remove(this.nodePath(node));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#remove(this.path);
  }

  async #remove(path: string): Promise<void> {
    await Promise.all(this.#hierarchies.mountPoints.map((mountPoint) => removeTree(join(mountPoint, path))));
  }
}

/** Version 2: each group passes the controllers on to the groups in it. */
async function delegate(mountPoint: string, path: string): Promise<void> {
  let group = mountPoint;
  const wanted = NEEDED.map((name) => `+${name}`).join(" ");
  for (const name of ["", ...path.split("/").filter(Boolean)]) {
    group = join(group, name);
    try {
      await writeFile(join(group, "cgroup.subtree_control"), wanted);
    } catch (cause) {
      throw new MissingRequirement(
        `The kernel refuses the controllers ${NEEDED.join(", ")} to groups below ${group}.`,
        {
          cause,
        },
      );
    }
  }
}

/** Version 1: a new group has no CPUs and memory nodes, and processes can't enter it. */
async function fillCpuset(mountPoint: string, path: string): Promise<void> {
  let parent = mountPoint;
  for (const name of path.split("/").filter(Boolean)) {
    const group = join(parent, name);
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      await writeFile(join(group, file), await readFile(join(parent, file)));
    }
    parent = group;
  }
}

async function removeAbandoned(mountPoint: string): Promise<void> {
  const parent = join(mountPoint, OURS);
  if (!existsSync(parent)) return;
  for (const run of await directories(parent)) {
    if (isAbandoned(run)) await removeTree(join(parent, run));
  }
}

async function removeTree(group: string): Promise<void> {
  if (!existsSync(group)) return;
  await eventually(`${group} has no processes`, () => removeEmpty(group), { limitMs: REMOVAL_LIMIT_MS });
}

/** False while processes are in it. */
async function removeEmpty(group: string): Promise<boolean> {
  for (const child of await directories(group)) await removeEmpty(join(group, child));
  try {
    await rmdir(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

async function directories(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
