import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { NODE_MACS_CRD } from "../../src/api/crds.ts";
import { apiVersionOf, NODE_MACS } from "../../src/api/kinds.ts";
import {
  BRIDGE_RESOURCE_PREFIX,
  LINUX_BRIDGE_WEBHOOK,
  NAD_GROUP,
  NAD_RESOURCE_NAME_ANNOTATION,
} from "../../src/api/names.ts";
import { isAlreadyExists } from "../../src/kube/client/api-error.ts";
import type { Node } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { macpool } from "../cli/support/macpool.ts";
import { WRONG_NETWORKS } from "../nad-lint/wrong-networks.ts";
import { eventually } from "../support/eventually.ts";
import { webhooksAt } from "../support/webhooks-at.ts";
import { InjectorHarness } from "./injector-harness.ts";

const BR1 = "bridge.network.kubevirt.io/br1";
const GOOD = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" };
const UNKNOWN_KEY = { ...GOOD, portIsolaton: true };
const TYPING_MISTAKE =
  'unknown key "portIsolaton" is ignored: did you mean "portIsolation"? The key has no effect. Correct it or ' +
  "remove it.";
const MEBIBYTE = 1 << 20;

interface Applied {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function nad(config: unknown, metadata: object = {}): object {
  return {
    apiVersion: `${NAD_GROUP}/v1`,
    kind: "NetworkAttachmentDefinition",
    metadata: {
      name: "br1-net",
      namespace: "default",
      annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: BR1 },
      ...metadata,
    },
    spec: { config: typeof config === "string" ? config : JSON.stringify(config) },
  };
}

function kubectl(harness: InjectorHarness, args: readonly string[], objects: readonly object[]): Promise<Applied> {
  const { kubectlPath, kubeconfig, directory } = harness.controlPlane;
  return new Promise((resolve) => {
    const child = execFile(
      kubectlPath,
      [...args, "-f", "-"],
      { env: { HOME: directory, KUBECONFIG: kubeconfig } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
    child.stdin?.end(objects.map((object) => stringify(object)).join("---\n"));
  });
}

const apply = (harness: InjectorHarness, ...objects: object[]): Promise<Applied> =>
  kubectl(harness, ["apply"], objects);
const dryRun = (harness: InjectorHarness, ...objects: object[]): Promise<Applied> =>
  kubectl(harness, ["create", "--dry-run=server"], objects);

/** What `kubectl macpool check -f` says of an object. */
async function check({ controlPlane }: InjectorHarness, object: object) {
  const file = join(controlPlane.directory, "checked.yaml");
  await writeFile(file, stringify(object));
  const { exitCode, stdout } = await macpool(controlPlane.kubeconfig, ["check", "-f", file]);
  return { exitCode, stdout, summary: stdout.trimEnd().split("\n").at(-1) };
}

const warning = (message: string, name = "default/br1-net"): string =>
  `Warning: NetworkAttachmentDefinition ${name}: ${message}\n`;

/** failurePolicy Fail where a webhook that is not called has to be seen; Ignore is what the operator renders. */
async function register(harness: InjectorHarness, failurePolicy?: "Fail"): Promise<void> {
  const rendered = renderEverything(DEFAULT_SETTINGS).find(
    ({ kind, metadata }) => kind === "ValidatingWebhookConfiguration" && metadata.name === LINUX_BRIDGE_WEBHOOK,
  );
  if (rendered === undefined) throw new Error("no ValidatingWebhookConfiguration is rendered");
  const url = `https://127.0.0.1:${harness.httpsPort}`;
  const hook = webhooksAt(rendered, url, harness.controlPlane.authority.certificate);
  const webhooks = (hook.webhooks as object[]).map((one) => ({ ...one, ...(failurePolicy && { failurePolicy }) }));
  await harness.admin.create(RESOURCES.validatingWebhookConfigurations, { ...hook, webhooks } as never);
}

/** The API server takes its time to act on a new configuration. */
async function untilAsked(harness: InjectorHarness): Promise<void> {
  await eventually("the API server asks the lint", async () => {
    const { stderr } = await dryRun(harness, nad(UNKNOWN_KEY, { name: "probe" }));
    return stderr.includes("portIsolaton");
  });
}

describe("kubectl apply of NetworkAttachmentDefinitions, warned of", () => {
  let harness: InjectorHarness;

  beforeAll(async () => {
    harness = await InjectorHarness.start({ env: { NAD_LINT: "Warn" } });
    await register(harness, "Fail");
    await untilAsked(harness);
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  it("prints what is wrong with each of them", async () => {
    const networks = WRONG_NETWORKS.map(({ config, annotations }, index) =>
      nad(config, { namespace: `team-${index}`, annotations }),
    );
    const namespaces = networks.map((_, index) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: `team-${index}` },
    }));
    expect((await apply(harness, ...namespaces)).code).toBe(0);
    const { code, stdout, stderr } = await apply(harness, ...networks);
    expect(stdout.split("\n").filter((line) => line.endsWith(" created"))).toHaveLength(networks.length);
    const expected = WRONG_NETWORKS.map(({ says }, index) =>
      says.map(([, message]) => warning(message, `team-${index}/br1-net`)).join(""),
    );
    expect(stderr).toBe(expected.join(""));
    expect(code).toBe(0);
  });

  it("says nothing about good ones, other plugins, and changes of something else", async () => {
    const others = nad({ type: "macvlan", master: "eth1" }, { name: "other", annotations: {} });
    expect((await apply(harness, nad(GOOD), others)).stderr).toBe("");
    expect((await apply(harness, nad(UNKNOWN_KEY))).stderr).toBe(warning(TYPING_MISTAKE));
    expect((await apply(harness, nad(UNKNOWN_KEY, { labels: { a: "b" } }))).stderr).toBe("");
  });

  it("counts the nodes that publish the bridge, as they come and go", async () => {
    for (const name of ["node-a", "node-b"])
      await harness.admin.create(RESOURCES.nodes, { metadata: { name } } as Node);
    const text = warning(
      "br1 is published by none of 2 nodes. Pods stay Pending until a node publishes it. Make it on a node, or let the marker " +
        'publish it, or correct "bridge".',
      "default/new",
    );
    const asked = async (): Promise<string> =>
      (await dryRun(harness, nad({ ...GOOD, vlan: 7 }, { name: "new" }))).stderr;
    await eventually("the nodes are known", async () => (await asked()) === text);
    const body = { status: { capacity: { [BR1]: "1k" } } };
    await harness.admin.patch(RESOURCES.nodes, { name: "node-a" }, { type: "merge", body }, { subresource: "status" });
    await eventually("a node has the bridge", async () => (await asked()) === "");
    await harness.admin.delete(RESOURCES.nodes, { name: "node-a" });
    await eventually("the node is gone", async () => (await asked()).includes("by no node"));
    await harness.admin.delete(RESOURCES.nodes, { name: "node-b" });
    await eventually("no node is known", async () => (await asked()) === "");
  });

  it("compares a network with the bridges of the nodes, as they change", async () => {
    await harness.admin.create(RESOURCES.crds, NODE_MACS_CRD as never).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
    for (const name of ["node-a", "node-b"]) {
      await harness.admin.create(RESOURCES.nodes, { metadata: { name } } as Node);
      const body = { status: { capacity: { [BR1]: "1k" } } };
      await harness.admin.patch(RESOURCES.nodes, { name }, { type: "merge", body }, { subresource: "status" });
    }
    const report = (name: string, mtu: number, vlanFiltering: boolean): object => ({
      apiVersion: apiVersionOf(NODE_MACS),
      kind: NODE_MACS.kind,
      metadata: { name },
      addresses: [],
      bridges: [{ name: "br1", mtu, vlanFiltering }],
    });
    const reported = (...reports: object[]): Promise<Applied> => kubectl(harness, ["apply", "--server-side"], reports);
    const small = [report("node-a", 9000, true), report("node-b", 1500, false), report("node-gone", 1400, false)];
    await eventually("the kind is served", async () => (await reported(...small)).code === 0);
    const large = nad({ ...GOOD, vlan: 7, mtu: 9000 }, { name: "large" });
    const text =
      warning(
        "br1 does not filter VLANs on node-b. Pods are not kept in their VLAN there. Set vlan_filtering 1 on the " +
          'bridge, or write "enableVlanFiltering": true.',
        "default/large",
      ) +
      warning(
        "br1 has an MTU below 9000 on node-b (1500). Larger frames are dropped there. Write " +
          '"mtu": "inherit" to take the MTU of the bridge, or raise that.',
        "default/large",
      );
    const asked = async (): Promise<string> => (await dryRun(harness, large)).stderr;
    await eventually("the reports are known", async () => (await asked()) === text);
    const file = join(harness.controlPlane.directory, "large.yaml");
    await writeFile(file, stringify(large));
    const { stdout } = await macpool(harness.controlPlane.kubeconfig, ["lint", "--nodes", "-f", file, "-ojson"]);
    for (const line of text.trimEnd().split("\n")) {
      const [, message = ""] = line.split("default/large: ");
      expect(JSON.parse(stdout)[0].findings.map((one: { message: string }) => one.message)).toContain(message);
    }
    await reported(report("node-b", 9000, true));
    await eventually("the bridge is set right", async () => (await asked()) === "");
    for (const name of ["node-a", "node-b"]) await harness.admin.delete(RESOURCES.nodes, { name });
  });

  it("names another network of the namespace that leads to the same bridge and VLAN, and none of others", async () => {
    const vlan = { ...GOOD, vlan: 10 };
    expect((await apply(harness, nad(vlan, { name: "blue" }))).stderr).toBe("");
    const text = warning(
      "network default/blue leads to bridge br1 VLAN 10 too: VMs of both reach each other. Use one name, or another VLAN to keep " +
        "them apart.",
      "default/green",
    );
    await eventually("the first one is known", async () => {
      return (await dryRun(harness, nad(vlan, { name: "green" }))).stderr === text;
    });
    expect((await dryRun(harness, nad({ ...vlan, vlan: 11 }, { name: "green" }))).stderr).toBe("");
    expect((await dryRun(harness, nad(vlan, { name: "blue", namespace: "team-0" }))).stderr).toBe("");
    const elsewhere = (await dryRun(harness, nad(vlan, { name: "green", namespace: "team-0" }))).stderr;
    expect(elsewhere).toBe(
      text.replace("network default/blue", "a network of another namespace").replace("default/green", "team-0/green"),
    );
  });

  it("is foretold by kubectl macpool check -f, which calls a mistake that is stored a mistake", async () => {
    const checked = await check(harness, nad(UNKNOWN_KEY, { name: "foretold" }));
    expect(checked).toMatchObject({
      exitCode: 1,
      summary: "1 object: 0 would be refused, 1 has mistakes, 0 not checked.",
    });
    expect(checked.stdout.match(/portIsolaton/g)).toHaveLength(1);
    expect((await apply(harness, nad(UNKNOWN_KEY, { name: "foretold" }))).code).toBe(0);
  });

  it("answers for the largest configurations that the API server takes", async () => {
    const large = { name: "large", annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: `${BRIDGE_RESOURCE_PREFIX}br7` } };
    const filled = (bytes: number): object =>
      nad({ ...GOOD, bridge: "br7", args: { cni: { filler: "x".repeat(bytes) } } }, large);
    expect((await dryRun(harness, filled(MEBIBYTE - 1000))).stderr).toBe("");
    expect((await dryRun(harness, filled(MEBIBYTE + 1000))).stderr).toContain(
      "has more than 1048576 bytes: make it smaller. The bridge plugin refuses it: pods will not start.",
    );
    const nested = `{"type":"cnv-bridge","x":${"[".repeat(400_000)}${"]".repeat(400_000)}}`;
    expect((await dryRun(harness, nad(nested, large))).stderr).toContain("is nested more than 1000 deep");
  });

  it("keeps no network out when it is gone", async () => {
    await harness.admin.delete(RESOURCES.validatingWebhookConfigurations, { name: LINUX_BRIDGE_WEBHOOK });
    await register(harness);
    await untilAsked(harness);
    expect(await harness.process.stop()).toBe(0);
    const { code, stderr } = await apply(harness, nad(UNKNOWN_KEY, { name: "late" }));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("kubectl apply of NetworkAttachmentDefinitions, enforced", () => {
  let harness: InjectorHarness;

  beforeAll(async () => {
    harness = await InjectorHarness.start({ env: { NAD_LINT: "Enforce" } });
    // From before the lint.
    expect((await apply(harness, nad(UNKNOWN_KEY, { name: "old" }))).code).toBe(0);
    await register(harness, "Fail");
    await untilAsked(harness);
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  it("is refused for a mistake, with its text", async () => {
    const { code, stderr } = await apply(harness, nad(UNKNOWN_KEY));
    expect(code).toBe(1);
    expect(stderr).toContain(
      'admission webhook "lint-networks.linux-bridge.network.kubevirt.io" denied the request: ' +
        `NetworkAttachmentDefinition default/br1-net: ${TYPING_MISTAKE}`,
    );
    expect((await apply(harness, nad(GOOD))).code).toBe(0);
    expect((await apply(harness, nad({ ...GOOD, vlan: 4095 }))).stderr).toContain('"vlan" must be a whole number');
  });

  it("is foretold by kubectl macpool check -f, which says that it is refused", async () => {
    const checked = await check(harness, nad(UNKNOWN_KEY, { name: "foretold" }));
    expect(checked).toMatchObject({ exitCode: 1, summary: "1 object: 1 would be refused, 0 not checked." });
    expect(checked.stdout.match(/portIsolaton/g)).toHaveLength(1);
    expect(checked.stdout).toContain("error refused by lint-networks.linux-bridge.network.kubevirt.io\n");
  });

  it("succeeds for networks of other plugins, and for old networks that are not made worse", async () => {
    const other = nad({ type: "ovs", bridge: "br1" }, { name: "other", annotations: {} });
    const labelled = nad(UNKNOWN_KEY, { name: "old", labels: { a: "b" } });
    expect(await apply(harness, other, labelled)).toMatchObject({ code: 0, stderr: "" });
    const worse = nad({ ...UNKNOWN_KEY, mtu: 20 }, { name: "old" });
    expect((await apply(harness, worse)).stderr).toMatch(/denied the request: .*"mtu" must be 0/);
    expect((await apply(harness, nad(GOOD, { name: "old" }))).code).toBe(0);
  });
});
