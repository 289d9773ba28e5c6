import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, macpool } from "./support/macpool.ts";

/** How `check -f` reads files. No cluster is needed for that. */
describe("the files of kubectl macpool check -f", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "macpool-check-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function write(name: string, ...documents: readonly string[]): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, documents.join("---\n"));
    return file;
  }

  const check = (...argv: string[]): Promise<Ended> => macpool(join(folder, "no-kubeconfig"), ["check", ...argv]);

  async function checkedIn(...documents: readonly string[]) {
    const { exitCode, stdout } = await check("-f", await write("all.yaml", ...documents), "-o", "json");
    return { exitCode, ...JSON.parse(stdout) };
  }

  it("says what kubectl and other readers of YAML take for different things", async () => {
    const interfaces = "[{name: a, macAddress: 02:00:00:00:00:01}, {name: b, macAddress: '02:00:00:00:00:02'}]";
    const spec = `{running: off, template: {spec: {domain: {devices: {interfaces: ${interfaces}}}}}}`;
    const { exitCode, items } = await checkedIn(
      `apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: lab}\nspec: ${spec}\n`,
      "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: net}\nspec:\n  config:\n    vlan: 010\n",
    );
    const said = items.map(({ findings }: { findings: { code: string; message: string }[] }) =>
      findings.map(({ code, message }) => [code, message]),
    );
    expect(said).toEqual([
      [
        ["boolean", 'line 4: off without quotes is false for kubectl, and a text for others. Write false or "off".'],
        [
          "mac-unquoted",
          'line 4: 02:00:00:00:00:01 without quotes is a number for some readers of YAML 1.1. Write "02:00:00:00:00:01".',
        ],
      ],
      [
        ["config-unreadable", expect.stringContaining("spec.config is not a text")],
        ["octal", 'line 11: 010 without quotes is 8 for kubectl, and 10 for others. Write 8 or "010".'],
      ],
    ]);
    expect(exitCode).toBe(1);
  });

  it("refuses what is no text for kubectl where the API server takes text only", async () => {
    const nad = (metadata: string) =>
      `apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: ${metadata}\nspec: {config: '{}'}\n`;
    const vm = (spec: string) =>
      `apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {template: ${spec}}\n`;
    const { exitCode, items } = await checkedIn(
      nad("{name: net, labels: {on-call: yes}}"),
      nad("{name: net, annotations: {number: 0x1F}}"),
      nad("{name: 007}"),
      vm("{metadata: {labels: {app: on}}}"),
      vm("{spec: {domain: {devices: {interfaces: [{name: a, macAddress: 020000000001}]}}}}"),
      nad('{name: net, labels: {commit: 12e3, quoted: "on", clock: 1:30, empty: ~}}'),
    );
    const told = items.map(
      ({ findings }: { findings: { code: string; message: string }[] }) =>
        findings.find(({ code }) => code === "refused")?.message.split(" for kubectl")[0],
    );
    expect(told).toEqual([
      'metadata.labels["on-call"] is the boolean true',
      'metadata.annotations["number"] is the number 31',
      "metadata.name is the number 7",
      'spec.template.metadata.labels["app"] is the boolean true',
      "macAddress of interfaces[0] is the number 2147483649",
      undefined,
    ]);
    expect(exitCode).toBe(1);
  });

  it("refuses names of networks that name none", async () => {
    const spec = (networks: string) => `{networks: [{name: default, pod: {}}, ${networks}]}`;
    const { exitCode, items } = await checkedIn(
      `apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: {template: {spec: ${spec("{name: net1, multus: {networkName: x/y/z}}")}}}\n`,
      `apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: b}\nspec: ${spec("{name: net1, multus: {networkName: good/}}, {name: net2, multus: {}}")}\n`,
      "apiVersion: v1\nkind: Pod\nmetadata: {name: c, annotations: {k8s.v1.cni.cncf.io/networks: x/y/z}}\n",
      `apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: d}\nspec: ${spec("{name: net1, multus: {networkName: lab/good}}")}\n`,
    );
    const said = items.map(({ findings }: { findings: { code: string; message: string }[] }) =>
      findings.map(({ code, message }) => [code, message]),
    );
    const fault = (name: string, what: string) => [
      "network-name",
      `network "${name}": ${what} names no NetworkAttachmentDefinition: pods do not start. Write NAME or NAMESPACE/NAME.`,
    ];
    expect(said).toEqual([
      [fault("net1", 'networkName "x/y/z"')],
      [fault("net1", 'networkName "good/"'), fault("net2", "multus without a networkName")],
      [
        [
          "network-name",
          expect.stringMatching(
            /^annotation \S+ can't be read: "x\/y\/z" is not of the form .* The pod does not start\.$/,
          ),
        ],
      ],
      [],
    ]);
    expect(exitCode).toBe(1);
  });

  it("ends with 2 for files without an object", async () => {
    for (const text of ["", "# nothing\n", "---\n"]) {
      const ended = await check("-f", await write("empty.yaml", text));
      expect(ended).toEqual({
        exitCode: 2,
        stdout: "",
        stderr: `error: there is no object in ${join(folder, "empty.yaml")}: write a manifest into it\n`,
      });
    }
  });

  it.each([
    ["nothing to check", [], "check takes one argument: a MAC address, or -f FILE"],
    ["a file and an address", ["02:00:00:00:00:01", "-f", "vm.yaml"], "check takes a MAC address or -f FILE, not both"],
    ["a file that is not there", ["-f", "absent.yaml"], "absent.yaml can't be read: no such file or directory"],
    ["all namespaces", ["-f", "vm.yaml", "-A"], "check needs a namespace: write -n NAMESPACE in place of -A"],
  ])("ends with 2 for %s", async (_, argv, sentence) => {
    expect(await check(...argv)).toEqual({ exitCode: 2, stdout: "", stderr: `error: ${sentence}\n` });
  });

  it("ends with 2 for files that are no YAML, or too much", async () => {
    const kib = "x".repeat(1024);
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [["a: 1\nb: {c: 1, d: 2, c: 3}\n"], /^error: \S+ is not YAML: Map keys must be unique at line 2, column 17\n$/],
      [["spec: [\n"], /^error: \S+ is not YAML: .* at line \d+, column \d+\n$/],
      [
        Array.from({ length: 1001 }, () => "a: 1\n"),
        /^error: \S+ is too much: the files have more than 1000 documents\. /,
      ],
      [[JSON.stringify({ kind: "List", items: Array(1001).fill(0) })], /the files have more than 1000 objects\. /],
      [
        [`a: ${kib.repeat(1024)}\n`],
        /^error: \S+ is too much: a document has more than 1 MiB\. Check it in parts\.\n$/,
      ],
      [[`# ${kib.repeat(16 * 1024)}\n`], /^error: \S+ is too much: the files have more than 16 MiB\. /],
    ];
    for (const [documents, sentence] of cases) {
      const { exitCode, stdout, stderr } = await check("-f", await write("wrong.yaml", ...documents));
      expect(stderr).toMatch(sentence);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    }
  });
});
