import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Step, Way } from "../../src/api/way.ts";
import { AGO } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import {
  EVENTS,
  FORBIDDEN,
  GREEN_MAC,
  KNOWN,
  KUBEVIRT,
  launcher,
  list,
  NADS,
  nic,
  type Objects,
  POD,
  PODS,
  STARTING,
  script,
  service,
  there,
} from "./support/explain-script.ts";
import { goldenPath, onEveryTerminal } from "./support/golden.ts";
import { macpool, NARROW } from "./support/macpool.ts";
import { problem, type Script, status } from "./support/scripted-cluster.ts";
import { ATTACHMENT, MAC } from "./way/working-way.ts";

const { node: _node, pod: _pod, ...STOPPED } = KNOWN;

describe("kubectl macpool explain", () => {
  let harness: CliHarness;
  beforeEach(async () => {
    harness = await CliHarness.start();
  });
  afterEach(async () => {
    await harness[Symbol.asyncDispose]();
  });

  const explained = async (using: Script): Promise<readonly Way[]> => {
    const { stdout } = await harness.say(using, "explain", "lab/web", "-o", "json");
    return (JSON.parse(stdout) as { readonly way: readonly Way[] }).way;
  };
  const last = async (objects: Objects): Promise<Step | undefined> =>
    (await explained(script(objects)))[0]?.steps.at(-1);

  it.each<readonly [string, Objects, Script]>([
    ["explain-way", {}, {}],
    [
      "explain-way-stopped",
      { [`${KUBEVIRT}/virtualmachineinstances/web`]: status(404, "not found"), [`${NADS}/green`]: status(404, "no") },
      { rest: service(STOPPED) },
    ],
    ["explain-way-hidden", { [PODS]: FORBIDDEN, "/api/v1/nodes": FORBIDDEN, [`${NADS}/blue`]: FORBIDDEN }, {}],
  ])("%s: on terminals of any width, with and without colour, and into a pipe", async (name, objects, more) => {
    harness.cluster.script = script(objects, more);
    const argv = ["explain", "web", "-n", "lab"];
    const texts = await onEveryTerminal(argv, (terminal) => macpool(harness.kubeconfig, argv, { terminal }));
    await expect(texts).toMatchFileSnapshot(goldenPath(name));
  });

  it("is in docs/reference/kubectl-macpool.md as it is printed", async () => {
    harness.cluster.script = script();
    const command = "explain web -n lab";
    const { stdout } = await macpool(harness.kubeconfig, command.split(" "), { terminal: NARROW });
    const docs = await readFile(join(import.meta.dirname, "../../docs/reference/kubectl-macpool.md"), "utf8");
    expect(docs).toContain(`\`\`\`\n$ kubectl macpool ${command}\n${stdout}\`\`\`\n`);
  });

  it("prints the steps of each interface as JSON beside what the pool knows", async () => {
    const { stdout, exitCode } = await harness.say(script(), "explain", "lab/web", "-o", "json");
    const { way, ...known } = JSON.parse(stdout);
    expect({ known, exitCode }).toEqual({ known: KNOWN, exitCode: 0 });
    expect(way.map((one: Way) => [one.interface, one.steps.length])).toEqual([
      ["net1", 8],
      ["net2", 6],
    ]);
  });

  it("repeats the newest error of the runtime, without what a terminal would obey", async () => {
    const event = (message: string, lastTimestamp: string, uid = "pod-1") => ({
      metadata: {},
      reason: "FailedCreatePodSandBox",
      involvedObject: { kind: "Pod", name: POD, uid },
      message: `failed (add): [lab/web/1:blue]: ${message}`,
      lastTimestamp,
    });
    const events = list(
      event("older", AGO(60)),
      event("\u001b[31mno bridge\n\u202ebr1", AGO(30)),
      event("of another pod", AGO(1), "pod-0"),
    );
    expect(await last({ [PODS]: list(launcher([])), [EVENTS]: events })).toEqual({
      step: "attached",
      state: "wrong",
      text: "\ufffd[31mno bridge \ufffdbr1",
      remedy: `kubectl describe pod ${POD} -n lab shows each attempt.`,
    });
  });

  it("follows the launcher on the node where the VMI runs, and none that has ended", async () => {
    const on = (nodeName: string, name: string, phase = "Running") => {
      const { metadata, ...pod } = launcher([ATTACHMENT]);
      return { ...pod, metadata: { ...metadata, name }, spec: { nodeName }, status: { phase } };
    };
    const instance = there({ metadata: { name: "web", uid: "vmi-1" }, status: { nodeName: "node-b" } });
    const [way] = await explained(
      script({
        [`${KUBEVIRT}/virtualmachineinstances/web`]: instance,
        [PODS]: list(on("node-b", "ended", "Succeeded"), on("node-a", "target"), on("node-b", "source")),
      }),
    );
    expect(way?.steps.find(({ step }) => step === "scheduled")?.text).toBe("pod source on node-b");
  });

  it("follows no pod that only looks like a launcher of the VM", async () => {
    const fake = (owner: object) => ({
      metadata: {
        name: "a-fake",
        namespace: "lab",
        uid: "pod-0",
        ownerReferences: [{ name: "web", uid: "vmi-1", ...owner }],
      },
      spec: { nodeName: "node-a" },
      status: { phase: "Running" },
    });
    const podOf = async (owner: object) => {
      const metadata = { name: "web", namespace: "lab", uid: "vmi-1" };
      const told = { nodeName: "node-a", activePods: { "pod-1": "node-a" } };
      const objects = {
        [`${KUBEVIRT}/virtualmachineinstances/web`]: there({ metadata, status: told }),
        [PODS]: list(fake(owner), launcher([ATTACHMENT, { name: "lab/green", interface: "pod3d4e", mac: GREEN_MAC }])),
      };
      const { stdout } = await harness.say(script(objects), "explain", "lab/web");
      expect(stdout).not.toContain("virtctl restart");
      const away = { ...script(objects), proxy: status(503, "away"), claims: [] };
      const without = await harness.say(away, "explain", "lab/web");
      expect(without.stdout).toMatch(/^VirtualMachine lab\/web runs on node-a, pod virt-launcher-web-x7k2p\n/);
      return (await explained(script(objects)))[0]?.steps.find(({ step }) => step === "scheduled")?.text;
    };
    expect(await podOf({ kind: "ConfigMap" })).toBe(`pod ${POD} on node-a`);
    expect(await podOf({ kind: "VirtualMachineInstance" })).toBe(`pod ${POD} on node-a`);
  });

  it("explains a pod by the networks that it asks for", async () => {
    const { metadata, ...pod } = launcher([ATTACHMENT]);
    const annotations = { ...metadata.annotations, "k8s.v1.cni.cncf.io/networks": `[{"name":"blue","mac":"${MAC}"}]` };
    const objects = { [`${PODS}/web`]: there({ ...pod, metadata: { ...metadata, name: "web", annotations } }) };
    const using = script(objects, { rest: service({ ...KNOWN, kind: "Pod" }) });
    const { stdout } = await harness.say(using, "explain", "pod/lab/web", "-o", "json");
    const [way] = JSON.parse(stdout).way;
    expect([way.interface, way.steps.at(-1).text]).toEqual(["net1", "frames of VLAN 100 leave node-a by eno2"]);
  });

  it.each<[string, Script]>([
    ["a pod that the pool knows", { rest: service({ ...KNOWN, kind: "Pod", interfaces: [] }) }],
    ["a pod that no pool knows", { rest: () => undefined }],
  ])("says of %s what is wrong with its annotation of networks, and where", async (_, more) => {
    const { metadata, ...pod } = launcher([]);
    const annotations = { "k8s.v1.cni.cncf.io/networks": '[{"name":"blue"' };
    const objects = { [`${PODS}/web`]: there({ ...pod, metadata: { ...metadata, name: "web", annotations } }) };
    const { stdout } = await harness.say(script(objects, more), "explain", "pod/lab/web", "-o", "json");
    const [way] = JSON.parse(stdout).way;
    expect(way.interface).toBe("k8s.v1.cni.cncf.io/networks");
    expect(way.steps).toEqual([
      {
        step: "network",
        state: "wrong",
        text: expect.stringMatching(
          /^annotation k8s\.v1\.cni\.cncf\.io\/networks of pod lab\/web can't be read, .*: it is not valid JSON: .*position 15/,
        ),
        remedy: expect.stringContaining('[{"name": "blue"}]'),
      },
    ]);
  });

  it.each([
    ["with the service", script({}, { rest: service({ ...KNOWN, notRunningYet: true }) })],
    ["without the pool", { ...script(STARTING), rest: () => undefined }],
    ["without the service", { ...script(STARTING), proxy: status(503, "away"), claims: [] }],
  ])("says of a VM whose pod is still being made that it is starting: %s", async (_, using) => {
    const { stdout } = await harness.say(using, "explain", "lab/web");
    expect(stdout).toMatch(/^VirtualMachine lab\/web is starting on node-a, pod virt-launcher-web-x7k2p\n/);
  });

  it("goes the way of a VM that no pool knows, and ends with 1", async () => {
    const unknown = { ...script(), rest: () => undefined };
    const { stdout, exitCode } = await harness.say(unknown, "explain", "lab/web");
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^VirtualMachine lab\/web runs on node-a, pod virt-launcher-web-x7k2p\n\nnet1, from request /,
    );
    expect(stdout).toContain(`unknown  accepted   ${MAC}, for which no pool has a claim\n`);
    expect(stdout).toContain("frames of VLAN 100 leave node-a by eno2");
  });

  it.each([
    ["the service", { rest: () => problem(403, "FORBIDDEN", "User t may not read claims.") }],
    ["the objects", { proxy: status(503, "away"), claims: FORBIDDEN, pools: FORBIDDEN }],
  ] satisfies [string, Script][])("goes on where %s shows no claims", async (_, refusing) => {
    const using = script({}, refusing);
    const { stdout, exitCode } = await harness.say(using, "explain", "lab/web");
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`unknown  accepted   ${MAC}; claims are not visible to you: needs list on macclaims\n`);
    expect(stdout).toContain("frames of VLAN 100 leave node-a by eno2");
    const nothing = await harness.say({ ...using, other: () => FORBIDDEN }, "explain", "lab/web");
    expect(nothing).toMatchObject({ exitCode: 2, stdout: "", stderr: expect.stringContaining("error: ") });
  });

  it("bounds what somebody wrote into an object, and asks for no network with an impossible name", async () => {
    const interfaces = [
      null,
      nic("x".repeat(1_000), MAC),
      { name: 1 },
      ...Array.from({ length: 200 }, () => nic("n", "")),
    ];
    const networks = [{ name: "x".repeat(1_000), multus: { networkName: `../${"y".repeat(1_000)}` } }];
    const spec = { template: { spec: { domain: { devices: { interfaces } }, networks } } };
    const way = await explained(
      script({ [`${KUBEVIRT}/virtualmachines/web`]: there({ metadata: { name: "web", namespace: "lab" }, spec }) }),
    );
    expect(way).toHaveLength(128);
    expect(way[0]?.interface).toMatch(/^x{297}\.\.\.$/);
    expect(way[0]?.steps.at(-1)).toMatchObject({ step: "network", state: "wrong" });
    expect(way[0]?.steps.at(-1)?.text).toMatch(/ \.\.\/y{294}\.\.\. does not exist: pods do not start$/);
  });

  it("goes on where a read fails for another reason", async () => {
    const [way] = await explained(script({ "/api/v1/nodes": status(500, "etcd is\naway") }, { hosts: FORBIDDEN }));
    expect(way?.steps.find(({ step }) => step === "bridge")).toMatchObject({
      text: "nodes are not known: etcd is away",
    });
  });
});
