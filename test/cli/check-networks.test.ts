import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { machine } from "../mac-pool/machines.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { macpool } from "./support/macpool.ts";
import { type Answer, status } from "./support/scripted-cluster.ts";

const NADS = "/apis/k8s.cni.cncf.io/v1/namespaces/lab/network-attachment-definitions";
const VMS = "/apis/kubevirt.io/v1/namespaces/lab/virtualmachines";
const LINT_HOOK = "lint-networks.linux-bridge.network.kubevirt.io";
const TYPING_MISTAKE =
  'unknown key "portIsolaton" is ignored: did you mean "portIsolation"? The key has no effect. Correct it or remove it.';
const FORBIDDEN = status(
  403,
  'network-attachment-definitions.k8s.cni.cncf.io "blue" is forbidden: User "ann" cannot patch resource ' +
    '"network-attachment-definitions" in API group "k8s.cni.cncf.io" in the namespace "lab"',
  "Forbidden",
);

const nad = (config: object = {}, name = "blue"): object => ({
  apiVersion: "k8s.cni.cncf.io/v1",
  kind: "NetworkAttachmentDefinition",
  metadata: {
    name,
    namespace: "lab",
    annotations: { "k8s.v1.cni.cncf.io/resourceName": "bridge.network.kubevirt.io/br1" },
  },
  spec: { config: JSON.stringify({ cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1", ...config }) },
});
const vm = (name: string, mac?: string): object =>
  machine(name, "lab", [{ name: "net1", ...(mac === undefined ? {} : { macAddress: mac }) }]);
const warned = (...messages: readonly string[]): Answer => ({
  body: {},
  headers: {
    warning: messages
      .map((text) => `299 - "NetworkAttachmentDefinition lab/blue: ${text.replaceAll('"', '\\"')}"`)
      .join(", "),
  },
});

describe("kubectl macpool check -f of networks", () => {
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

  /** `answers` by path; the server accepts what is not among them. */
  async function checked(answers: Readonly<Record<string, Answer>>, ...documents: readonly object[]) {
    harness.cluster.script = { other: (path) => answers[path] ?? { body: {} } };
    const file = join(folder, "all.yaml");
    await writeFile(file, documents.map((each) => stringify(each)).join("---\n"));
    const { exitCode, stdout } = await macpool(harness.kubeconfig, ["check", "-f", file]);
    const { stdout: json } = await macpool(harness.kubeconfig, ["check", "-f", file, "-o", "json"]);
    const summary = stdout.trimEnd().split("\n").at(-1);
    return { exitCode, summary, items: JSON.parse(json).items };
  }

  it("asks for a network as kubectl apply writes it, and does not say that all is well to who may not", async () => {
    const { exitCode, summary, items } = await checked({ [`${NADS}/blue`]: FORBIDDEN }, nad());
    expect(harness.cluster.asked[0]?.path).toBe(
      `${NADS}/blue?dryRun=All&fieldManager=kubectl&fieldValidation=Strict&force=true`,
    );
    expect(items).toMatchObject([
      { verdict: "unchecked", isChecked: false, findings: [{ severity: "warning", code: "unchecked" }] },
    ]);
    expect(items[0].findings[0].message).toMatch(/ "blue" is forbidden: User "ann" cannot patch /);
    expect({ exitCode, summary }).toEqual({ exitCode: 0, summary: "1 object: 0 would be refused, 1 not checked." });
  });

  it("calls a mistake that the cluster stores a mistake, and says it once", async () => {
    const bridge = "br1 is published by none of 2 nodes. Pods stay Pending until a node publishes it.";
    const answers = { [`${NADS}/blue`]: warned(TYPING_MISTAKE, bridge) };
    const { exitCode, summary, items } = await checked(answers, nad({ portIsolaton: true }));
    expect(items[0]).toMatchObject({ verdict: "accepted", isChecked: true });
    expect(items[0].findings).toEqual([
      { severity: "warning", code: "warned", message: `NetworkAttachmentDefinition lab/blue: ${bridge}` },
      { severity: "error", code: "key-ignored", message: TYPING_MISTAKE },
    ]);
    expect({ exitCode, summary }).toEqual({
      exitCode: 1,
      summary: "1 object: 0 would be refused, 1 has mistakes, 0 not checked.",
    });
  });

  it("says that a mistake is refused where the cluster refuses it", async () => {
    const message = `admission webhook "${LINT_HOOK}" denied the request: NetworkAttachmentDefinition lab/blue: ${TYPING_MISTAKE}`;
    const answers = { [`${NADS}/blue`]: status(403, message, "Forbidden") };
    const { exitCode, summary, items } = await checked(answers, nad({ portIsolaton: true }));
    expect(items[0]).toMatchObject({ verdict: "refused", isChecked: true });
    expect(items[0].findings).toEqual([
      {
        severity: "error",
        code: `refused by ${LINT_HOOK}`,
        message: "The cluster refuses it for the mistakes that are told below: its nadLint is Enforce.",
      },
      { severity: "error", code: "key-ignored", message: TYPING_MISTAKE },
    ]);
    expect({ exitCode, summary }).toEqual({ exitCode: 1, summary: "1 object: 1 would be refused, 0 not checked." });
  });

  it("counts as not checked what has another error too, and each object for what it is", async () => {
    const away = status(500, 'failed calling webhook "a.b"');
    const { exitCode, summary, items } = await checked(
      { [`${VMS}/b`]: away, [`${NADS}/blue`]: FORBIDDEN },
      vm("a", "02:5d:1c:00:00:07"),
      vm("b", "02:5d:1c:00:00:07"),
      nad({ vlan: 5000 }),
      nad({ vlan: 5000 }, "green"),
    );
    expect(
      items.map(({ verdict, isChecked }: { verdict: string; isChecked: boolean }) => [verdict, isChecked]),
    ).toEqual([
      ["accepted", true],
      ["refused", false],
      ["unchecked", false],
      ["accepted", true],
    ]);
    expect({ exitCode, summary }).toEqual({
      exitCode: 1,
      summary: "4 objects: 1 would be refused, 2 have mistakes, 2 not checked.",
    });
  });

  const GREEN = `${NADS}/green`;
  const onGreen = (networkName = "green"): object => ({
    ...vm("web"),
    spec: { template: { spec: { networks: [{ name: "net1", multus: { networkName } }] } } },
  });
  const podOnGreen = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "lab", annotations: { "k8s.v1.cni.cncf.io/networks": "green@net1" } },
    spec: { containers: [] },
  };

  it("warns of a network that is neither in the cluster nor in the files, in the words of explain", async () => {
    const { exitCode, summary, items } = await checked({ [GREEN]: status(404, "not found") }, onGreen(), podOnGreen);
    const missing = {
      severity: "warning",
      code: "network-missing",
      message:
        "NetworkAttachmentDefinition lab/green does not exist: pods do not start. Create it, or name one that exists as NAMESPACE/NAME.",
    };
    expect(items.map(({ findings }: { findings: object[] }) => findings)).toEqual([[missing], [missing]]);
    expect({ exitCode, summary }).toEqual({ exitCode: 0, summary: "2 objects: 0 would be refused, 0 not checked." });
    const reads = harness.cluster.asked.filter(({ method, path }) => method === "GET" && path.startsWith(NADS));
    expect(reads.map(({ path }) => path)).toEqual([GREEN, GREEN]);
  });

  it.each<readonly [string, Readonly<Record<string, Answer>>, readonly object[]]>([
    ["that the files bring along", { [GREEN]: status(404, "not found") }, [nad({}, "green"), onGreen("lab/green")]],
    ["that the user may not read", { [GREEN]: status(403, "get is forbidden", "Forbidden") }, [onGreen()]],
    ["that is there", { [GREEN]: { body: nad({}, "green") } }, [onGreen()]],
    ["whose name is none, which is an error already", {}, [onGreen("a/b/c")]],
  ])("does not warn of a network %s", async (_, answers, documents) => {
    const { items } = await checked(answers, ...documents);
    expect(JSON.stringify(items)).not.toContain("network-missing");
  });
});
