import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { WRONG_NETWORKS } from "../nad-lint/wrong-networks.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { goldenPath, onEveryTerminal } from "./support/golden.ts";
import { type Ended, macpool, NARROW } from "./support/macpool.ts";
import { type Answer, status } from "./support/scripted-cluster.ts";

const GOOD = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" };

function nad(name: string, config: unknown, metadata: object = {}): string {
  return stringify({
    apiVersion: "k8s.cni.cncf.io/v1",
    kind: "NetworkAttachmentDefinition",
    metadata: { name, annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" }, ...metadata },
    spec: { config: typeof config === "string" ? config : JSON.stringify(config) },
  });
}

describe("kubectl macpool lint", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "macpool-lint-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function write(name: string, ...documents: string[]): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, documents.join("---\n"));
    return file;
  }

  /** Without a cluster: there is no kubeconfig. */
  const lint = (...argv: string[]): Promise<Ended> => macpool(join(folder, "no-kubeconfig"), ["lint", ...argv]);

  it("says what admission says, for each of several documents", async () => {
    const networks = WRONG_NETWORKS.map(({ config, annotations }, index) =>
      nad("br1-net", config, { annotations, namespace: `team-${index}` }),
    );
    const { exitCode, stdout, stderr } = await lint("-f", await write("wrong.yaml", ...networks), "-ojson");
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    const views: { findings: { severity: string; code: string; message: string }[] }[] = JSON.parse(stdout);
    const said = views.map(({ findings }) =>
      findings.filter(({ severity }) => severity !== "note").map(({ code, message }) => [code, message]),
    );
    expect(said).toEqual(WRONG_NETWORKS.map(({ says }) => says));
  });

  it("prints the file, the object, and what to do", async () => {
    const file = await write("br1.yaml", nad("br1-net", { ...GOOD, portIsolation: "true", vlan: 10 }));
    const { exitCode, stdout } = await macpool("", ["lint", "-f", file], { terminal: NARROW });
    expect(stdout).toBe(`${file}: NetworkAttachmentDefinition default/br1-net
  warning value-quoted
    "portIsolation" is the string "true", taken as true: write it without
    quotes, because other plugins refuse it.
  note vlan-needs-filtering
    br1 has to filter VLANs (vlan_filtering 1). Where it does not, the plugin
    only warns, and pods are not kept in their VLAN. Write
    "requireVlanFiltering": true to make the plugin refuse.
  note vlan-1-kept
    the plugin takes each new port out of VLAN 1, if that is the bridge's
    default. A port that a plugin of v1.5.1 or earlier made stays in VLAN 1
    until its pod is made anew.

1 NetworkAttachmentDefinition: 0 errors, 1 warning, 2 notes
`);
    expect(exitCode).toBe(1);
  });

  it("fits every terminal", async () => {
    const file = await write(
      "nets.yaml",
      nad("br1-net", { ...GOOD, portIsolation: "true" }),
      nad("broken", { ...GOOD, vlan: 5000 }, { namespace: "lab" }),
    );
    const argv = ["lint", "-f", "nets.yaml"];
    const texts = await onEveryTerminal(argv, (terminal) => macpool("", ["lint", "-f", file], { terminal }));
    await expect(texts.replaceAll(`${folder}/`, "")).toMatchFileSnapshot(goldenPath("lint"));
  });

  it("reads directories, lists, JSON and several files, passes over other kinds, and ends with 0 where nothing is wrong", async () => {
    await mkdir(join(folder, "nads"));
    await write("nads/a.yml", nad("a", GOOD), stringify({ kind: "Pod", metadata: { name: "web" } }), "");
    await write("nads/b.json", JSON.stringify({ kind: "List", items: [{ kind: "Service" }] }));
    await write("nads/notes.txt", "no manifest: [");
    const other = await write("other.yaml", nad("other", { type: "ovs", bridge: "br1" }));
    const { exitCode, stdout } = await lint("-f", join(folder, "nads"), "--filename", other);
    expect(stdout).toBe("2 NetworkAttachmentDefinitions: 0 errors, 0 warnings, 0 notes\n");
    expect(exitCode).toBe(0);
  });

  it("reads stdin", () => {
    const main = join(import.meta.dirname, "../../src/cli/main.ts");
    const input = nad("br1-net", { ...GOOD, vlan: 5000 }, { namespace: "lab" });
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, "lint", "-f", "-"], {
      input,
      encoding: "utf8",
    });
    expect(stdout).toContain('-: NetworkAttachmentDefinition lab/br1-net\n  error plugin-refuses\n    "vlan" must be');
    expect({ status, stderr }).toEqual({ status: 1, stderr: "" });
  });

  it("compares the networks of the input with each other", async () => {
    const file = await write(
      "same.yaml",
      nad("blue", GOOD),
      nad("green", GOOD),
      nad("green", GOOD, { namespace: "lab" }),
    );
    const { exitCode, stdout } = await lint("-f", file, "-n", "team");
    expect(stdout).toContain(
      "NetworkAttachmentDefinition team/blue\n  warning same-network\n    network team/green leads to bridge br1 too",
    );
    expect(stdout).toContain("3 NetworkAttachmentDefinitions: 0 errors, 3 warnings, 0 notes");
    expect(stdout).toContain("lab/green\n  warning same-network\n    network team/blue leads to bridge br1 too");
    expect(exitCode).toBe(1);
  });

  it.each([
    ["no files", [], 2, "error: lint needs files: write -f FILE, -f DIRECTORY or -f -\n"],
    ["a file as an argument", ["nad.yaml"], 2, "error: lint takes no argument: write -f PATH\n"],
    [
      "a file that is not there",
      ["-f", "absent.yaml"],
      2,
      "error: absent.yaml can't be read: no such file or directory\n",
    ],
  ])("explains %s", async (_, argv, exitCode, stderr) => {
    expect(await lint(...argv)).toEqual({ exitCode, stdout: "", stderr });
  });

  it("says which file is broken, and where", async () => {
    const file = await write("broken.yaml", nad("a", GOOD), "spec: [\n");
    expect(await lint("-f", file)).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringMatching(/^error: .*broken\.yaml is not YAML: .* at line \d+, column \d+\n$/),
    });
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x]",
      ..."bcdefghi".split("").map((name, index) => `${name}: &${name} [${`*${"abcdefgh"[index]},`.repeat(9)}]`),
    ];
    expect((await lint("-f", await write("bomb.yaml", `${bomb.join("\n")}\n`))).stderr).toContain(
      "bomb.yaml is not YAML: ",
    );
    await mkdir(join(folder, "empty"));
    expect((await lint("-f", join(folder, "empty"))).stderr).toContain(
      "empty has no files that end in .yaml, .yml or .json",
    );
    const pod = await write("pod.yaml", stringify({ kind: "Pod" }));
    expect((await lint("-f", pod)).stderr).toBe(`error: there is no NetworkAttachmentDefinition in ${pod}\n`);
  });

  it("survives objects of any shape, and obeys none of them", async () => {
    const header = { apiVersion: "k8s.cni.cncf.io/v1", kind: "NetworkAttachmentDefinition" };
    const shapes = [
      { ...header, metadata: null, spec: null },
      { ...header, metadata: { name: 5, annotations: [1], namespace: {} }, spec: { config: "" } },
      { ...header, metadata: { name: "\u001b[2Jnet", annotations: { a: 1 } }, spec: { config: { type: "bridge" } } },
    ];
    const { exitCode, stdout } = await lint(
      "-f",
      await write("shapes.yaml", ...shapes.map((one) => stringify(one)), "kind: 5\n"),
    );
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toContain("spec.config is not a text: the API server refuses it. Write the JSON between quotes");
    expect(stdout).toContain("3 NetworkAttachmentDefinitions: 1 error");
    expect(exitCode).toBe(1);
  });

  it("compares the networks of the input with those of the cluster too, and says which namespace is missing", async () => {
    await using harness = await CliHarness.start();
    const inCluster = (name: string, namespace: string): unknown => parse(nad(name, GOOD, { namespace }));
    const items = [inCluster("blue", "team"), inCluster("blue", "lab"), inCluster("red", "other")];
    const listOf = (...items: unknown[]): Answer => ({ body: { metadata: { resourceVersion: "1" }, items } });
    const node = { metadata: { name: "node-a" }, status: { capacity: { "bridge.network.kubevirt.io/br1": "1k" } } };
    harness.cluster.script = {
      other: (path) =>
        path.endsWith("/network-attachment-definitions")
          ? listOf(...items)
          : ({ "/api/v1/nodes": listOf(node), "/api/v1/namespaces/team": { body: {} } }[path] ?? undefined),
    };
    const brought = stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "fresh" } });
    const file = await write("new.yaml", nad("blue", GOOD), brought, nad("blue", GOOD, { namespace: "fresh" }));
    const argv = ["lint", "--nodes", "-f", file, "-n"];
    const { exitCode, stdout, stderr } = await macpool(harness.kubeconfig, [...argv, "team"]);
    expect(stdout).toContain("team/blue\n  warning same-network\n    network other/red leads to bridge br1 too");
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    const missing = await macpool(harness.kubeconfig, [...argv, "nosuchns"]);
    expect(missing.stderr).toBe("warning: there is no namespace nosuchns: create it before you apply the network.\n");
  });

  it("warns of allowed addresses that a MACPool gives out, where the user may read pools", async () => {
    await using harness = await CliHarness.start();
    const none: Answer = { body: { metadata: { resourceVersion: "1" }, items: [] } };
    const ranges = [{ start: "02:2d:df:00:00:00", end: "02:2d:df:ff:ff:ff" }];
    const other = (path: string): Answer => (path.startsWith("/api/v1/namespaces/") ? { body: {} } : none);
    harness.cluster.script = { pools: [{ metadata: { name: "default" }, spec: { ranges } }], other };
    const allowed = (...allowedMacs: string[]): string => nad("guarded", { ...GOOD, macspoofchk: true, allowedMacs });
    const file = await write("allowed.yaml", allowed("00:00:5e:00:01:0a", "02:2d:df:00:00:00/24"));
    const said =
      'warning allowed-macs-of-pool\n    "allowedMacs" has 02:2d:df:00:00:00/24, which holds addresses of MACPool default: pods may send as ' +
      "the VMs that have those. Write addresses that no MACPool has.";
    for (const argv of [
      ["lint", "--nodes", "-f", file],
      ["check", "-f", file],
    ]) {
      const { stdout } = await macpool(harness.kubeconfig, argv);
      expect(stdout).toContain(said);
    }
    const outside = await write("outside.yaml", allowed("02:2d:de:00:00:00/24", "02:2d:e0:00:00:00"));
    expect((await macpool(harness.kubeconfig, ["lint", "--nodes", "-f", outside])).stdout).not.toContain(
      "allowed-macs",
    );
    harness.cluster.script = { pools: status(403, "no", "Forbidden"), other };
    expect((await macpool(harness.kubeconfig, ["lint", "--nodes", "-f", file])).stdout).not.toContain("allowed-macs");
  });

  it("needs a kubeconfig only to count nodes", async () => {
    const { exitCode, stderr } = await lint("--nodes", "-f", await write("good.yaml", nad("a", GOOD)));
    expect(exitCode).toBe(2);
    expect(stderr).toContain("no-kubeconfig");
  });
});
