import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { FIRST } from "./support/answers.ts";
import { macpool } from "./support/macpool.ts";
import { kubeconfigOf, ScriptedCluster, status } from "./support/scripted-cluster.ts";

let cluster: ScriptedCluster;
let folder: string;
let kubeconfig: string;

beforeEach(async () => {
  cluster = await ScriptedCluster.start();
  folder = await mkdtemp(join(tmpdir(), "macpool-silent-"));
  kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one")));
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** With the fewest arguments, of each command that asks a cluster. */
const ASKING: Readonly<Record<string, readonly string[]>> = {
  status: [],
  list: [],
  find: [FIRST],
  explain: ["web"],
  check: [FIRST],
  collisions: [],
  denials: [],
  doctor: [],
  namespaces: [],
  networks: [],
  network: ["blue"],
  map: [],
  watch: [],
  ranges: [],
  lint: ["--nodes", "-f", join(import.meta.dirname, "support/network.yaml")],
  ui: ["--no-browser"],
};

const OBJECTS_ANSWER = ["status", "list", "find", "explain", "collisions", "doctor", "watch", "ranges"];

describe("an API server that hangs", () => {
  const silent = "does not answer in time: try again, or give it longer with --request-timeout";

  it("is tried with every command", () => {
    expect([...Object.keys(ASKING), "new-network", "preflight", "completion"].sort()).toEqual(
      COMMANDS.map(({ name }) => name).sort(),
    );
  });

  it.each(Object.entries(ASKING))("costs %s the given time and one sentence", async (command, args) => {
    cluster.script = { hangs: true };
    expect(await macpool(kubeconfig, [command, ...args, "--request-timeout", "200ms"])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: the API server ${cluster.url} ${silent}\n`,
    });
  });

  it("leaves preflight nothing to look at", async () => {
    cluster.script = { hangs: true };
    expect(await macpool(kubeconfig, ["preflight", "--request-timeout", "200ms"])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: the API server ${cluster.url} ${silent}\n`,
    });
  });

  it("keeps new-network from naming nodes, and from nothing else", async () => {
    cluster.script = { hangs: true };
    const answer = await macpool(kubeconfig, ["new-network", "blue", "--bridge", "br1", "--request-timeout", "200ms"]);
    expect(answer).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("kind: NetworkAttachmentDefinition") });
    expect(answer.stderr).toContain(silent);
  });

  it.each(["ranges", "collisions"])("is named by its context in %s of several clusters", async (command) => {
    await using other = await ScriptedCluster.start();
    await writeFile(kubeconfig, kubeconfigOf(other.parts("one"), cluster.parts("two")));
    cluster.script = { hangs: true };
    const argv = [command, "--contexts", "one,two", "--request-timeout", "200ms"];
    expect(await macpool(kubeconfig, argv)).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringContaining(`error: context two: the API server ${cluster.url} ${silent}\n`),
    });
  });

  it.each(Object.entries(ASKING))("does so to %s where only the pool's service hangs", async (command, args) => {
    cluster.script = { serviceHangs: true };
    const ended = new AbortController();
    const argv = [command, ...args, "--request-timeout", "200ms"];
    const run = macpool(kubeconfig, argv, { signal: ended.signal });
    // The objects are watched without an end.
    if (command === "watch") ended.abort();
    const { exitCode, stderr } = await run;
    expect(exitCode < 2).toBe(OBJECTS_ANSWER.includes(command));
    if (command !== "watch" && command !== "lint") expect(stderr).toContain("it does not answer (");
  });
});

describe("an API server", () => {
  it("that is not there, or knows nobody, is said in one sentence", async () => {
    const { url } = cluster;
    await cluster[Symbol.asyncDispose]();
    expect((await macpool(kubeconfig, ["status"])).stderr).toBe(
      `error: the API server ${url} can't be reached (ECONNREFUSED): is this the right kubeconfig?\n`,
    );
    cluster = await ScriptedCluster.start({ webhooks: status(401, "Unauthorized", "Unauthorized") });
    await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one")));
    expect((await macpool(kubeconfig, ["status"])).stderr).toBe(
      "error: the API server does not know these credentials: log in again\n",
    );
  });
});
