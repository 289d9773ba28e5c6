import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, startCluster } from "./cluster.ts";

/** A program that starts a cluster, says where its state is, and stays. */
const program = `
  const { startCluster } = await import(${JSON.stringify(join(import.meta.dirname, "cluster.ts"))});
  const cluster = await startCluster({ nodes: [{ name: "node-a" }] });
  await cluster.kubectl(["run", "guest", "--image=localhost/guest:dev"]);
  await cluster.kubectl(["wait", "--for=condition=Ready", "pod/guest"]);
  console.log(cluster.logDirectory);
  setInterval(() => {}, 1e9);`;

/** Processes that have the text in their command line or see it among their mounts. */
function processesWith(text: string): string[] {
  const holds = (file: string): boolean => {
    try {
      return readFileSync(file, "utf8").includes(text);
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => holds(`/proc/${pid}/cmdline`) || holds(`/proc/${pid}/mountinfo`));
}

async function startElsewhere(): Promise<{ readonly kill: () => void; readonly directory: string }> {
  const args = ["--input-type=module", "--eval", program];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  return { kill: () => child.kill("SIGKILL"), directory: String(value).replace(/\/logs$/, "") };
}

describe("the end of a cluster", () => {
  const crash = Promise.withResolvers<Error>();
  let beside: Cluster;
  let elsewhere: Awaited<ReturnType<typeof startElsewhere>>;

  beforeAll(async () => {
    const besideStarts = startCluster({ nodes: [{ name: "node-a" }], onCrash: crash.resolve });
    [beside, elsewhere] = await Promise.all([besideStarts, startElsewhere()]);
  });
  afterAll(() => beside?.[Symbol.asyncDispose]());

  it("leaves no process and no mount when its starter is killed", async () => {
    const { kill, directory } = elsewhere;
    expect(processesWith(directory).length).toBeGreaterThan(5);
    kill();
    await expect.poll(() => processesWith(directory)).toEqual([]);
  });

  it("leaves files then, which the next start removes; in order it leaves nothing, and no other is touched", async () => {
    const next = await startCluster({ nodes: [{ name: "node-a" }] });
    expect(readdirSync(join(elsewhere.directory, ".."))).not.toContain(basename(elsewhere.directory));
    const directory = join(next.logDirectory, "..");
    expect(next.url).not.toBe(beside.url);
    await next[Symbol.asyncDispose]();
    expect(processesWith(directory)).toEqual([]);
    expect((await beside.kubectl(["get", "node", "node-a"])).code).toBe(0);
  });

  it("is an error with the tail of the log when a part ends by itself", async () => {
    await beside.exec("node-a", ["sh", "-c", "echo last words > /proc/$PPID/fd/1; kill -KILL $PPID"]).catch(() => {});
    expect((await crash.promise).message).toMatch(/^node node-a ended by itself .*last words/s);
  });
});
