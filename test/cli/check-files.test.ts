import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { machine } from "../mac-pool/machines.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { goldenPath, onEveryTerminal } from "./support/golden.ts";
import { type Ended, macpool } from "./support/macpool.ts";
import { type Answer, status } from "./support/scripted-cluster.ts";

const POOL_HOOK = "mutatevirtualmachines.kubemacpool.io";
const denial = (message: string, hook = POOL_HOOK): Answer =>
  status(403, `admission webhook "${hook}" denied the request: ${message}`, "Forbidden");

const vm = (name: string, mac?: string): object =>
  machine(name, "lab", [{ name: "net1", ...(mac === undefined ? {} : { macAddress: mac }) }]);
const pod = (metadata: object): object => ({ apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [] } });
const nad = (config: object, name = "br1-net", namespace = "lab"): object => ({
  apiVersion: "k8s.cni.cncf.io/v1",
  kind: "NetworkAttachmentDefinition",
  metadata: { name, namespace, annotations: { "k8s.v1.cni.cncf.io/resourceName": "bridge.network.kubevirt.io/br1" } },
  spec: { config: JSON.stringify({ cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1", ...config }) },
});

const VMS = "/apis/kubevirt.io/v1/namespaces/lab/virtualmachines";
const PODS = "/api/v1/namespaces/lab/pods";

describe("kubectl macpool check -f", () => {
  let harness: CliHarness;
  let folder: string;
  beforeEach(async () => {
    harness = await CliHarness.start();
    folder = await mkdtemp(join(tmpdir(), "macpool-check-"));
  });
  afterEach(async () => {
    await harness[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function write(name: string, ...documents: readonly (object | string)[]): Promise<string> {
    const file = join(folder, name);
    const texts = documents.map((each) => (typeof each === "string" ? each : stringify(each)));
    await writeFile(file, texts.join("---\n"));
    return file;
  }

  /** `answers` by path; the server accepts what is not among them. */
  function answering(answers: Readonly<Record<string, Answer>>): void {
    harness.cluster.script = { other: (path) => answers[path] ?? { body: {} } };
  }

  const check = (...argv: string[]): Promise<Ended> => macpool(harness.kubeconfig, ["check", ...argv]);

  async function checked(...documents: readonly (object | string)[]) {
    const { exitCode, stdout, stderr } = await check("-f", await write("all.yaml", ...documents), "-o", "json");
    return { exitCode, stderr, ...JSON.parse(stdout) };
  }

  it("says what would be refused, by whom and why, on every terminal", async () => {
    answering({
      [`${VMS}/taken`]: denial(
        "the MAC address 02:00:00:00:00:05 of interface net1 is in use by VirtualMachine lab/db.",
      ),
      [`${PODS}/web`]: status(403, 'pods "web" is forbidden: exceeded quota: small', "Forbidden"),
    });
    const network = nad({ vlan: 5000 });
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web" } };
    const file = await write(
      "all.yaml",
      vm("fine"),
      vm("taken"),
      "",
      service,
      pod({ name: "web", namespace: "lab" }),
      network,
    );
    const argv = ["check", "-f", "all.yaml"];
    const texts = await onEveryTerminal(argv, (terminal) =>
      macpool(harness.kubeconfig, ["check", "-f", file], { terminal }),
    );
    await expect(texts.replaceAll(`${folder}/`, "")).toMatchFileSnapshot(goldenPath("check-files"));
  });

  it("writes by dry runs only, as kubectl apply writes, and in the namespace that kubectl would take", async () => {
    answering({});
    const file = await write(
      "all.yaml",
      vm("named"),
      pod({ generateName: "web-" }),
      pod({ name: "not a name", namespace: "lab" }),
      { ...vm("old"), apiVersion: "kubevirt.io/v1alpha3", kind: "VirtualMachineInstance" },
    );
    const { exitCode, stdout, stderr } = await check("-f", file, "-n", "team");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toBe("4 objects: 0 would be refused, 0 not checked.\n");
    const options = "?dryRun=All&fieldManager=kubectl&fieldValidation=Strict";
    expect(harness.cluster.asked.map(({ path, headers }) => [path, headers["content-type"]]).sort()).toEqual([
      [`${PODS}${options}`, "application/json"],
      [`/api/v1/namespaces/team/pods${options}`, "application/json"],
      ["/apis/k8s.cni.cncf.io/v1/namespaces/lab/network-attachment-definitions/br1-net", undefined],
      [`${VMS}/named${options}&force=true`, "application/apply-patch+yaml"],
      [
        `/apis/kubevirt.io/v1alpha3/namespaces/lab/virtualmachineinstances/old${options}&force=true`,
        "application/apply-patch+yaml",
      ],
    ]);
  });

  const PATCH_FORBIDDEN =
    'virtualmachines.kubevirt.io "web" is forbidden: User "ann" cannot patch resource "virtualmachines"';
  it.each<readonly [string, Answer, string, string]>([
    ["the pool refuses", denial("no."), "refused", "no."],
    ["KubeVirt refuses", denial("spec is wrong", "virtualmachine-validator.kubevirt.io"), "refused", "spec is wrong"],
    ["the server refuses a field", status(422, "spec.x: Invalid"), "refused", "spec.x: Invalid"],
    ["there is no namespace", namespaceMissing(), "refused", 'namespaces "lab" not found'],
    ["the user has no right", status(403, PATCH_FORBIDDEN), "unchecked", PATCH_FORBIDDEN],
    [
      "a webhook knows no dry run",
      status(400, 'admission webhook "a.b" does not support dry run'),
      "unchecked",
      'admission webhook "a.b" does not support dry run',
    ],
    ["a webhook is away", status(500, 'failed calling webhook "a.b"'), "unchecked", 'failed calling webhook "a.b"'],
    [
      "the cluster lacks the kind",
      { status: 404, body: "404 page not found\n", type: "text/plain" },
      "unchecked",
      "the cluster has no VirtualMachine of kubevirt.io/v1.",
    ],
  ])("where %s, it says so in the server's words", async (_, answer, verdict, message) => {
    answering({ [`${VMS}/web`]: answer });
    const { exitCode, items } = await checked(vm("web"));
    expect(items).toMatchObject([{ kind: "VirtualMachine", namespace: "lab", name: "web", document: 1, verdict }]);
    expect(items[0].findings.map((finding: { message: string }) => finding.message)).toEqual([message]);
    expect(exitCode).toBe(verdict === "refused" ? 1 : 0);
  });

  it("shows warnings of the server", async () => {
    const warning = '299 - "the \\"b\\" is shared", 299 - "second"';
    answering({ [`${VMS}/web`]: { body: {}, headers: { warning } } });
    const { exitCode, items } = await checked(vm("web"));
    expect(exitCode).toBe(0);
    expect(items[0].findings).toEqual([
      { severity: "warning", code: "warned", message: 'the "b" is shared' },
      { severity: "warning", code: "warned", message: "second" },
    ]);
  });

  it("does not hold against an object that the files bring along what it needs", async () => {
    const message =
      "Pod lab/web: NetworkAttachmentDefinition lab/br1-net, named by annotation k8s.v1.cni.cncf.io/networks, does not exist. " +
      "The pod would stay in ContainerCreating. Create the network first, or correct the annotation.";
    answering({ [`${VMS}/db`]: namespaceMissing(), [`${PODS}/web`]: denial(message, "network-resources-injector") });
    const web = pod({ name: "web", namespace: "lab" });
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "lab" } };
    const alone = await checked(vm("db"), web);
    expect(alone.items.map(({ verdict }: { verdict: string }) => verdict)).toEqual(["refused", "refused"]);
    const together = await checked(namespace, nad({}), vm("db"), web);
    expect(together).toMatchObject({ exitCode: 0, ignored: 1, total: 3 });
    const verdicts = together.items.map(({ verdict }: { verdict: string }) => verdict);
    expect(verdicts).toEqual(["accepted", "unchecked", "unchecked"]);
    expect(together.items[1].findings[0].message).toContain(". It is in the files: apply that first, and check again.");
  });

  it("refuses an address that two objects of the files ask for", async () => {
    answering({});
    const receiver = { ...vm("guest", "02:5d:1c:00:00:07"), spec: { runStrategy: "WaitAsReceiver" } };
    const { exitCode, items } = await checked(
      vm("a", "02:5d:1c:00:00:07"),
      vm("b", "02-5d-1c-00-00-07"),
      receiver,
      vm("c"),
    );
    expect(exitCode).toBe(1);
    expect(items.map(({ findings }: { findings: object[] }) => findings.length)).toEqual([0, 1, 0, 0]);
    expect(items[1].findings[0]).toEqual({
      severity: "error",
      code: "address-shared",
      message:
        "interface net1 asks for 02:5d:1c:00:00:07, as VirtualMachine lab/a of the input does. The second is refused, " +
        "unless conflictPolicy or conflictScope of the MACPool allows both. Leave macAddress out to get an address from the pool.",
    });
  });

  it("names no interface whose name is not a text", async () => {
    const second = JSON.stringify(vm("b", "02:5d:1c:00:00:07")).replaceAll('"name":"net1"', '"name":5');
    const file = await write("two.yaml", vm("a", "02:5d:1c:00:00:07"), second);
    const { stdout } = await check("-f", file, "--server", "http://127.0.0.1:1");
    expect(stdout).toContain("    an interface asks for 02:5d:1c:00:00:07, as VirtualMachine lab/a");
  });

  it("asks a server that can't be reached once, and says so once", async () => {
    const file = await write("vms.yaml", ...Array.from({ length: 20 }, (_, index) => vm(`web-${index}`)), nad({}));
    const away = await check("-f", file, "--server", "http://127.0.0.1:1");
    expect(away.exitCode).toBe(0);
    expect(away.stderr).toMatch(
      /^note: objects were not checked by a dry run: the API server \S+ can't be reached [^\n]+\n$/,
    );
    expect(away.stdout).toContain("21 objects: 0 would be refused, 21 not checked.\n");
    harness.cluster.script = { other: () => status(401, "Unauthorized") };
    const unknown = await check("-f", file);
    expect(unknown.stderr).toBe(
      "note: objects were not checked by a dry run: the API server does not know these credentials: log in again\n",
    );
    expect(harness.cluster.asked.length).toBeLessThanOrEqual(16);
  });

  it("reads networks without a kubeconfig", async () => {
    const good = await macpool("/nowhere", ["check", "-f", await write("good.yaml", nad({}))]);
    expect(good).toEqual({
      exitCode: 0,
      stdout: "1 object: 0 would be refused, 1 not checked.\n",
      stderr:
        "note: objects were not checked by a dry run: Kubeconfig /nowhere does not exist: set KUBECONFIG to the path of a kubeconfig.\n",
    });
    const wrong = await macpool("/nowhere", ["check", "-f", await write("wrong.yaml", nad({ vlan: 5000 }))]);
    expect(wrong.exitCode).toBe(1);
    expect(wrong.stdout).toContain("document 1: NetworkAttachmentDefinition lab/br1-net\n  error plugin-refuses\n");
  });

  it("survives objects of any shape", async () => {
    answering({});
    const shapes = [
      { apiVersion: "v1", kind: "Pod", metadata: null },
      { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "../kube-system" } },
      { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", metadata: { name: 5 }, spec: null },
      { kind: "Pod", metadata: { name: "\u001b[2J" } },
      { ...vm("db"), apiVersion: "kubevirt.io/v1/namespaces/lab/virtualmachines/db?a=" },
    ];
    const circle = "apiVersion: v1\nkind: Pod\nmetadata: &a {name: web, labels: *a}\n";
    const { exitCode, items, stderr } = await checked(...shapes, circle, "{}\n", "");
    const said = items.map(({ findings }: { findings: { message: string }[] }) => findings[0]?.message);
    expect(said).toEqual([
      undefined,
      `"../kube-system" can't be the name of a namespace. Write small letters, digits and "-".`,
      "metadata.name is the number 5 for kubectl, and the API server takes text only. Write it between quotes.",
      "it has no apiVersion or no kind. Write both.",
      '"kubevirt.io/v1/namespaces/lab/virtualmachines/db?a=" is no version of VirtualMachine. Write the one of its API.',
      "it contains itself, by an alias. Write it without the alias.",
      "it has no apiVersion or no kind. Write both.",
    ]);
    expect(JSON.stringify(items)).not.toContain("\\u001b");
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(harness.cluster.asked).toHaveLength(1);
  });

  it("reads stdin, lists and several files", async () => {
    answering({});
    const listed = await write("list.json", JSON.stringify({ kind: "List", items: [vm("a"), vm("b")] }));
    const main = join(import.meta.dirname, "../../src/cli/main.ts");
    const argv = [main, "check", "-f", listed, "--filename", "-", "-o", "json", "--kubeconfig", "/nowhere"];
    const { status: code, stdout } = spawnSync(process.execPath, argv, { input: stringify(nad({})), encoding: "utf8" });
    const { items } = JSON.parse(stdout) as { items: { source: string; document: number; name: string }[] };
    expect(items.map(({ source, document, name }) => [source, document, name])).toEqual([
      [listed, 1, "a"],
      [listed, 1, "b"],
      ["-", 1, "br1-net"],
    ]);
    expect(code).toBe(0);
  });
});

function namespaceMissing(): Answer {
  const details = { name: "lab", kind: "namespaces" };
  return {
    status: 404,
    body: { kind: "Status", code: 404, reason: "NotFound", message: 'namespaces "lab" not found', details },
  };
}
