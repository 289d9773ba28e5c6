import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { SCRIPTS } from "../../src/cli/commands/completion.ts";
import { completions, type LookUp } from "../../src/cli/completion.ts";
import { goldenPath } from "./support/golden.ts";
import { macpool } from "./support/macpool.ts";
import { POOL } from "./support/objects.ts";
import { kubeconfigOf, ScriptedCluster, status } from "./support/scripted-cluster.ts";

const wordsOf = (text: string): string[] =>
  text
    .split("\n")
    .slice(0, -2)
    .map((each) => each.split("\t")[0] ?? "");

describe("completion", () => {
  const named: LookUp = async (offer, before) => [`${offer} of ${before.join(" ")}`, "b"];
  const words = async (...line: string[]): Promise<string[]> => wordsOf(await completions(line, COMMANDS, named));

  it("offers commands, their arguments and options, and the values of options", async () => {
    expect(await words("")).toEqual([...COMMANDS.map(({ name }) => name), "version"]);
    expect(await words("col")).toEqual(["collisions"]);
    expect(await words("-n", "lab", "de")).toEqual(["denials"]);
    expect(await words("completion", "")).toEqual(["bash", "zsh", "fish", "kubectl"]);
    expect(await words("map", "--fr")).toEqual(["--from"]);
    expect(await words("list", "--fr")).toEqual([]);
    expect(await words("list", "-o", "")).toEqual(["table", "wide", "json", "yaml", "name", "jsonpath="]);
    expect(await words("list", "--output", "j")).toEqual(["json", "jsonpath="]);
    expect(await completions(["list", "-o", "jsonp"], COMMANDS, named)).toBe("jsonpath=\n:6\n");
    expect(await words("list", "--token", "")).toEqual([]);
  });

  it("looks names up with what the line says before", async () => {
    expect(await words("list", "--context", "x", "-n", "")).toEqual(["namespaces of list --context x", "b"]);
    expect(await words("map", "")).toEqual(["pools of map", "b"]);
    expect(await words("--user", "")).toEqual(["users of ", "b"]);
    expect(await words("ranges", "--contexts", "a,")).toEqual(["a,contexts of ranges", "a,b"]);
    expect(await words("ranges", "--contexts", "b,")).toEqual(["b,contexts of ranges"]);
  });

  it("asks the shell for names of files only where an option takes one", async () => {
    expect(await completions(["list", "--kubeconfig", ""], COMMANDS, named)).toBe(":0\n");
    expect(await completions(["lint", "-f", ""], COMMANDS, named)).toBe(":0\n");
    expect(await completions(["check", "-f", ""], COMMANDS, named)).toBe(":0\n");
    expect(await completions(["list", ""], COMMANDS, named)).toBe(":4\n");
  });

  it.each(Object.entries(SCRIPTS))("prints the script for %s", async (shell, script) => {
    const ended = await macpool("/nowhere", ["completion", shell]);
    expect(ended).toEqual({ exitCode: 0, stdout: script, stderr: "" });
    await expect(ended.stdout).toMatchFileSnapshot(goldenPath(`completion-${shell}`));
  });
});

describe("names for completion", () => {
  let cluster: ScriptedCluster;
  let folder: string;
  let kubeconfig: string;

  beforeAll(async () => {
    cluster = await ScriptedCluster.start();
    folder = await mkdtemp(join(tmpdir(), "macpool-names-"));
    kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one"), cluster.parts("two")));
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const words = async (...line: string[]): Promise<string[]> => {
    const { stdout, stderr, exitCode } = await macpool(kubeconfig, ["__complete", ...line]);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    return wordsOf(stdout);
  };

  it("are read from the kubeconfig and from the cluster", async () => {
    cluster.script = { pools: [POOL], namespaces: [{ metadata: { name: "default" } }, { metadata: { name: "lab" } }] };
    expect(await words("--context", "")).toEqual(["one", "two"]);
    expect(await words("--cluster", "t")).toEqual(["two"]);
    expect(await words("collisions", "--contexts", "two,")).toEqual(["two,one"]);
    expect(await words("list", "-n", "")).toEqual(["default", "lab"]);
    expect(await words("map", "")).toEqual(["default"]);
    expect(await words("find", "l")).toEqual(["lab"]);
    const nads = { items: [{ metadata: { name: "blue", namespace: "lab" } }], metadata: {} };
    const path = "/apis/k8s.cni.cncf.io/v1/namespaces/lab/network-attachment-definitions";
    cluster.script = { other: (asked) => (asked === path ? { body: nads } : undefined) };
    expect(await words("network", "-n", "lab", "")).toEqual(["blue"]);
    const vms = { items: [{ metadata: { name: "web", namespace: "lab" } }], metadata: {} };
    const machines = "/apis/kubevirt.io/v1/namespaces/lab/virtualmachines";
    cluster.script = { other: (asked) => (asked === machines ? { body: vms } : undefined) };
    expect(await words("explain", "-n", "lab", "")).toEqual(["web"]);
  });

  it("are none where they can't be read", async () => {
    cluster.script = { namespaces: status(403, "no", "Forbidden") };
    expect(await words("list", "-n", "")).toEqual([]);
    expect(await words("list", "--context", "moon", "-n", "")).toEqual([]);
    expect(await words("list", "--kubeconfig", "/nowhere", "--context", "")).toEqual([]);
    cluster.script = { hangs: true };
    expect(await words("list", "-n", "")).toEqual([]);
  });
});
