import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, macpool } from "./support/macpool.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "macpool-wrong-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a command with -f says of a file. */
async function said(command: string, text: string): Promise<Ended> {
  const file = join(folder, "all.yaml");
  await writeFile(file, text);
  return macpool(join(folder, "no-kubeconfig"), [command, "-f", file]);
}

const NAD = "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: net}\n";
const LIST = "apiVersion: v1\nkind: List\n";

describe.each(["check", "lint"])("kubectl macpool %s -f", (command) => {
  it.each([
    ["a spec that is a number", `${NAD}spec: 5\n`, "document 1 has 5 for its spec: write a map of fields"],
    [
      "a spec that is a list",
      `${NAD}---\n${NAD}spec: [a]\n`,
      "document 2 has a list for its spec: write a map of fields",
    ],
    [
      "metadata that is text",
      "kind: Secret\nmetadata: web\n",
      'document 1 has "web" for its metadata: write a map of fields',
    ],
    ["a text", "web\n", 'document 1 is "web", and no object: write apiVersion, kind and metadata'],
    ["a list", "[1, 2]\n", "document 1 is a list, and no object: write apiVersion, kind and metadata"],
    ["a List without items", LIST, "document 1 is a List whose items are not there: write a list of objects"],
    ["a List of nothing", `${LIST}items: null\n`, "document 1 is a List whose items are null: write a list of objects"],
    [
      "a List of fields",
      `kind: PodList\nitems: {a: 1}\n`,
      "document 1 is a PodList whose items are a map: write a list of objects",
    ],
    [
      "a List with a number",
      `${LIST}items: [{kind: Secret}, 5]\n`,
      "document 1: items[1] is 5, and no object: write apiVersion, kind and metadata",
    ],
    [
      "a List with nothing in it",
      `${LIST}items: [null]\n`,
      "document 1: items[0] is null, and no object: write apiVersion, kind and metadata",
    ],
  ])("ends with 2 for %s", async (_, text, sentence) => {
    const stderr = `error: ${join(folder, "all.yaml")}, ${sentence}\n`;
    expect(await said(command, text)).toEqual({ exitCode: 2, stdout: "", stderr });
  });

  const deep = (depth: number, [open, close]: readonly [string, string]): string =>
    `${open.repeat(depth)}1${close.repeat(depth)}`;

  it.each([300, 20_000])("ends with 2 for what is nested %i deep", async (depth) => {
    for (const brackets of [
      ["[", "]"],
      ['{"a": ', "}"],
    ] as const) {
      const { exitCode, stdout, stderr } = await said(command, `${NAD}spec: {a: ${deep(depth, brackets)}}\n`);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
      expect(stderr).toMatch(/^error: \S+ is nested too deeply: an object has 200 levels at most\n$/);
    }
    const dashes = await said(command, `${"- ".repeat(Math.min(depth, 3_000))}1\n`);
    expect([dashes.exitCode, dashes.stderr]).toEqual([2, expect.stringContaining(" is nested too deeply: ")]);
  });

  it("reads what is nested as deep as a configuration inside of text, and says what is wrong with it", async () => {
    const config = JSON.stringify(`{"type":"bridge","name":"net","bridge":"br1","x":${deep(50_000, ["[", "]"])}}`);
    const { exitCode, stdout, stderr } = await said(command, `${NAD}spec: {config: ${config}}\n`);
    expect(stdout + stderr).not.toContain("call stack");
    expect(exitCode).toBe(1);
  });
});
