import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckLine } from "../../src/cli/preflight/check-line.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { runCommand } from "../cluster/command.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { adminClient } from "../kube/support/real-api-server.ts";
import { machine } from "../mac-pool/machines.ts";
import { CONFIGS } from "../operator/support/installed-operator.ts";
import { formerObjects, formerOperator, leave, RANGE } from "../operator/support/predecessor.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { ConfigKind } from "../support/network-addons-config.ts";
import { account, grantRules } from "../support/rights.ts";
import { CliProcess } from "./support/cli-process.ts";
import { goldenPath, transcript } from "./support/golden.ts";
import { type Ended, macpool, NARROW } from "./support/macpool.ts";

const NAMESPACE = "cluster-network-addons";
const SHARED = "02:5d:1c:00:00:a3";

/** One story: a new cluster gets what Cluster Network Addons Operator leaves. */
describe("kubectl macpool preflight on a real API server", () => {
  let controlPlane: ControlPlaneAccess;
  let admin: KubeClient;
  let cli: CliProcess;

  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
    admin = await adminClient(controlPlane);
    cli = await CliProcess.build();
    await cli.write("nobody.kubeconfig", await controlPlane.userKubeconfig("nobody"));
  });
  afterAll(async () => {
    await admin?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  const preflight = (...argv: string[]): Promise<Ended> =>
    macpool(controlPlane.kubeconfig, ["preflight", ...argv], { terminal: NARROW });
  const nobody = (): string => join(cli.folder, "nobody.kubeconfig");

  /** The version is that of the control plane. */
  const shown = (ended: Ended): string =>
    transcript(["preflight"], "80 columns", { ...ended, stdout: ended.stdout.replace(/v1\.\d+\.\d+\S*/, "VERSION") });

  async function createNode(name: string, capacity: Readonly<Record<string, string>> = {}): Promise<void> {
    const nodeInfo = { operatingSystem: "linux", architecture: "amd64", kubeletVersion: "v1.34.1" };
    const status = { capacity, nodeInfo: { ...nodeInfo, containerRuntimeVersion: "containerd://2.2.2" } };
    await admin.create(RESOURCES.nodes, { metadata: { name } });
    await admin.patch(RESOURCES.nodes, { name }, { type: "merge", body: { status } }, { subresource: "status" });
  }

  it("has nothing to do first on a new cluster", async () => {
    await createNode("node-a");
    const ended = await preflight();
    await expect(shown(ended)).toMatchFileSnapshot(goldenPath("preflight-empty"));
    expect(ended.exitCode).toBe(0);
  });

  it("says what cannot be looked at where an account may read almost nothing", async () => {
    const ended = await macpool(nobody(), ["preflight"], { terminal: NARROW });
    await expect(shown(ended)).toMatchFileSnapshot(goldenPath("preflight-hidden"));
    expect(ended).toMatchObject({ exitCode: 2, stderr: "" });
    // What the API server tells everybody: its version, and which kinds there are.
    const known = [...ended.stdout.matchAll(/^ {2}ok +(\w+)/gm)].map(([, check]) => check);
    expect(known).toEqual(["kubernetes", "config", "bridges"]);
  });

  it("says what to do with a Cluster Network Addons Operator and its KubeMacPool", async () => {
    for (const crd of [...kubevirtCrds(), nadCrd]) await admin.create(RESOURCES.crds, crd as never);
    await new ConfigKind(admin).install();
    for (const name of [NAMESPACE, "lab"]) await admin.create(RESOURCES.namespaces, { metadata: { name } });
    await createNode("node-b", { "bridge.network.kubevirt.io/br1": "1k" });
    await eventually("VMs to be served", async () => (await admin.raw("GET", "/apis/kubevirt.io/v1")).status === 200);
    for (const name of ["web", "web-2"]) {
      await admin.create(KINDS.virtualMachines, machine(name, "lab", [{ name: "net1", macAddress: SHARED }]));
    }
    await leave(admin, [[RESOURCES.deployments, formerOperator(NAMESPACE)], ...formerObjects(NAMESPACE)]);
    const spec = { linuxBridge: {}, kubeMacPool: RANGE, multus: {}, nmstate: {} };
    await admin.create(CONFIGS as never, { metadata: { name: "cluster" }, spec } as KubeObject);
    const config = JSON.stringify({ cniVersion: "0.3.1", name: "blue", type: "cnv-bridge", bridge: "br9" });
    await admin.create(KINDS.networks, { metadata: { name: "blue", namespace: "lab" }, spec: { config } });
    const ended = await preflight();
    await expect(shown(ended)).toMatchFileSnapshot(goldenPath("preflight-cnao"));
    expect(ended.exitCode).toBe(1);
  });

  it("has the same lines as json", async () => {
    const { stdout, exitCode } = await preflight("-o", "json");
    const { items, toDo, total } = JSON.parse(stdout) as {
      readonly items: readonly CheckLine[];
      readonly total: number;
      readonly toDo: number;
    };
    expect({ exitCode, toDo, total }).toEqual({ exitCode: 1, toDo: 1, total: items.length });
    const command = `kubectl -n ${NAMESPACE} delete deployment cluster-network-addons-operator`;
    expect(items.filter(({ state }) => state === "do")).toEqual([
      { check: "operator", state: "do", text: expect.any(String), commands: [command] },
    ]);
  });

  it("takes only that for another operator whose account may write the status of the NetworkAddonsConfig", async () => {
    const rules = [{ apiGroups: [CONFIGS.group], resources: ["networkaddonsconfigs/status"], verbs: ["update"] }];
    await grantRules(admin, account("cluster-network-addons-operator", "theirs"), rules, { name: "theirs" });
    for (const name of ["theirs", "tenant"]) {
      await admin.create(RESOURCES.namespaces, { metadata: { name } });
      await admin.create(RESOURCES.deployments, formerOperator(name));
    }
    const lines = (JSON.parse((await preflight("-o", "json")).stdout).items as readonly CheckLine[]).filter(
      ({ check, text }) => check === "operator" && !text.includes(`in ${NAMESPACE}`),
    );
    const scale = "kubectl -n theirs scale deployment cluster-network-addons-operator --replicas=0";
    expect(lines.map(({ state, commands }) => [state, commands])).toEqual([
      ["note", undefined],
      ["do", [scale]],
    ]);
    for (const name of ["theirs", "tenant"]) {
      await admin.delete(RESOURCES.deployments, { name: "cluster-network-addons-operator", namespace: name });
    }
  });

  it("has nothing to do first once its commands were run", async () => {
    const [command = ""] = (await preflight("-o", "json").then(({ stdout }) => JSON.parse(stdout))).items.flatMap(
      ({ state, commands }: CheckLine) => (state === "do" ? commands : []),
    );
    const { code } = await runCommand([
      controlPlane.kubectlPath,
      "--kubeconfig",
      controlPlane.kubeconfig,
      ...command.split(" ").slice(1),
    ]);
    expect(code).toBe(0);
    expect(await preflight()).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^Nothing has to be done first/m),
    });
  });
});
