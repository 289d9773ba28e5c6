/** A run that is killed leaves nothing that the next one does not remove. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { NodeCluster } from "./node-cluster.ts";
import { noRealNodes } from "./real-nodes.ts";

const PROGRAM = join(import.meta.dirname, "cluster-to-kill.ts");
const CGROUPS = "/sys/fs/cgroup";

describe.skipIf(await noRealNodes())("real nodes that are killed", () => {
  it("leave no process and no mount, and the next start removes their directory and control groups", async () => {
    const child = spawn(process.execPath, [PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { directory, cgroup } = JSON.parse((await lines.next()).value as string) as Record<string, string>;
    if (directory === undefined || cgroup === undefined) throw new Error("the cluster said nothing of itself");
    expect(await groupsNamed(cgroup)).not.toEqual([]);
    child.kill("SIGKILL");
    await eventually("all processes of the nodes end", async () => !(await mentioned(directory)));
    expect(await readFile("/proc/mounts", "utf8")).not.toContain(directory);
    expect(existsSync(directory)).toBe(true);

    await using second = await NodeCluster.start({ nodes: [{ name: "n1" }] });
    expect(existsSync(directory)).toBe(false);
    expect(await groupsNamed(cgroup)).toEqual([]);
    expect((await second.exec("n1", ["true"])).code).toBe(0);
  });
});

/** Whether a process has the path in its command line. */
async function mentioned(path: string): Promise<boolean> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.some((line) => line.includes(path));
}

/** In version 1 one for each hierarchy. */
async function groupsNamed(path: string): Promise<string[]> {
  const folders = [CGROUPS, ...(await readdir(CGROUPS)).map((name) => join(CGROUPS, name))];
  return folders.map((folder) => join(folder, path)).filter((group) => existsSync(group));
}
