import { symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { VM_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { type CommandResult, runCommand } from "../cluster/command.ts";
import { machine, macsOf } from "../mac-pool/machines.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { account, bindClusterRole } from "../support/rights.ts";
import { CliProcess } from "./support/cli-process.ts";
import { createNodes, manifestsInLab, Tenant } from "./support/tenant.ts";

/** The fixture's webhooks are called by URLs. */
const OBJECTS_ONLY =
  "note: the MAC pool's service can't be asked: MutatingWebhookConfiguration kubemacpool-mutator leads to no Service: give " +
  "--pool-namespace. This answer is from MACPool and MACClaim objects, without denials and rates.\n";

describe("kubectl macpool on a real API server", () => {
  let harness: PoolFixture;
  let cli: CliProcess;
  let folder: string;
  let vm: KubeObject;
  let mac: string;
  let tenant: Tenant;

  beforeAll(async () => {
    cli = await CliProcess.build();
    folder = cli.folder;
    harness = await PoolFixture.start();
    await symlink(harness.controlPlane.kubectlPath, join(folder, "kubectl"));
    await harness.startReplica("one");
    await harness.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" }] });
    await harness.registerWebhooks();
    await harness.admin.create(RESOURCES.namespaces, { metadata: { name: "lab" } });
    vm = await harness.admin.create(KINDS.virtualMachines, machine("web", "default", [{ name: "net1" }]));
    await harness.admin.create(
      KINDS.virtualMachines,
      machine("probe", "lab", [{ name: "net1", macAddress: "02:00:00:00:00:01" }]),
    );
    mac = macsOf(vm)[0] ?? "";
    tenant = await Tenant.of("lab", harness, cli);
    expect((await harness.claims()).map(({ status }) => status?.phase)).toEqual(["Allocated", "Allocated"]);
    await eventually("the pool's status is up to date", async () => {
      const { used, pending } = (await harness.admin.get(KINDS.pools, { name: "default" })).status ?? {};
      return used === 1 && pending === 0;
    });
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  const environment = (): NodeJS.ProcessEnv => ({
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    HOME: folder,
    KUBECONFIG: harness.controlPlane.kubeconfig,
  });
  const macpool = (...args: string[]): Promise<CommandResult> =>
    runCommand([join(folder, "kubectl-macpool"), ...args], { env: environment() });

  it("runs as a plugin of kubectl", async () => {
    const { code, stdout, stderr } = await runCommand([join(folder, "kubectl"), "macpool", "list"], {
      env: environment(),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: OBJECTS_ONLY });
    expect(stdout).toContain(mac);
  });

  it("lists the addresses of a namespace, or of all", async () => {
    const own = await macpool("list");
    expect(own.stdout.split("\n")[0]).toMatch(/^MAC +OWNER +INTERFACE +PHASE +POOL +AGE$/);
    expect(own.stdout.split("\n")[1]).toMatch(
      new RegExp(`^${mac}   vm/web   net1        Allocated   default   \\d+s$`),
    );
    expect(own.stdout).not.toContain("probe");
    expect((await macpool("list", "-n", "lab", "--no-headers")).stdout).toMatch(/^02:00:00:00:00:01 +vm\/probe/);
    const all = await macpool("list", "-A", "-owide");
    expect(all.stdout).toMatch(/^MAC +NAMESPACE +OWNER .* NETWORK +ORIGIN +NODE +UNTIL\n/);
    expect(all.stdout).toContain("multus br1-net");
    expect(all.stdout.trimEnd().split("\n")).toHaveLength(3);
    expect(await macpool("list", "-n", "nowhere")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `${OBJECTS_ONLY}error: there is no namespace nowhere\n`,
    });
  });

  it("finds the holder of an address in any notation, with what is known about it", async () => {
    const { code, stdout } = await macpool("find", mac.toUpperCase().replaceAll(":", "-"));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^${mac} is allocated to VirtualMachine default/web\n` +
          "  interface   net1 \\(multus br1-net\\)\n" +
          "  origin      automatic, from pool default \\(02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff\\)\n" +
          "  since       \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d \\(\\d+ seconds?\\)\n" +
          "  running on  no node\n$",
      ),
    );
  });

  it("says on which node and in which pod the holder runs", async () => {
    const instance = await harness.admin.create(KINDS.instances, {
      metadata: {
        name: "web",
        namespace: "default",
        ownerReferences: [
          { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid: vm.metadata.uid ?? "" },
        ],
      },
      spec: {},
    });
    await harness.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "default" } });
    await harness.admin.create(KINDS.pods, {
      metadata: {
        name: "virt-launcher-web-x7k2p",
        namespace: "default",
        labels: { "kubevirt.io": "virt-launcher" },
        ownerReferences: [
          {
            apiVersion: "kubevirt.io/v1",
            kind: "VirtualMachineInstance",
            name: "web",
            uid: instance.metadata.uid ?? "",
          },
        ],
      },
      spec: { nodeName: "node-a", containers: [{ name: "compute", image: "none" }] },
    });
    expect((await macpool("find", mac)).stdout).toContain("  running on  node-a, pod virt-launcher-web-x7k2p\n");
  });

  it("finds by VM, by namespace and by a part of an address", async () => {
    expect((await macpool("find", "web")).stdout).toContain(`${mac} is allocated to VirtualMachine default/web`);
    expect((await macpool("find", "lab/probe")).stdout).toContain(
      "02:00:00:00:00:01 is allocated to VirtualMachine lab/probe",
    );
    expect((await macpool("find", "lab")).stdout).toContain("vm/probe");
    expect((await macpool("find", "02:5d:1c")).stdout).toContain(mac);
    expect(await macpool("find", "ghost")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining('no MAC address found for "ghost"'),
    });
    expect((await macpool("find", "02:5d:1c:00:00:ff")).stdout).toBe(
      "02:5d:1c:00:00:ff is free. It is in pool default.\n",
    );
  });

  it("shows what is left and ends with 1 where a pool has a problem", async () => {
    const { code, stdout } = await macpool("status");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^POOL .*\ndefault +1 \(<0\.1 %\) +16,777,215 +no forecast +-\n\nNo problems\.\n$/);
    const { stdout: details } = await macpool("status", "default");
    const range = /^MACPool default\n {2}ranges {8}02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff {2}\[#-{19}\] \(<0.1 %\)\n/;
    expect(details).toMatch(range);
    expect(details).toContain("used          1 (<0.1 %): 1 bound, 0 pending, 0 quarantined");
    await harness.createPool("tiny", { ranges: [{ start: "02:00:00:00:00:01", end: "02:00:00:00:00:01" }] });
    const full = await macpool("status");
    expect(full.code).toBe(1);
    expect(full.stdout).toMatch(/\ntiny +1 \(100\.0 %\) +0 +now +POOL_FULL\n/);
  });

  it("prints objects for programs", async () => {
    const json = JSON.parse((await macpool("find", mac, "-o", "json")).stdout);
    expect(json.items).toMatchObject([{ mac, phase: "Allocated", owners: [{ namespace: "default", name: "web" }] }]);
    expect(parse((await macpool("status", "-o=yaml")).stdout).items[1]).toMatchObject({ name: "default", used: 1 });
    const [name] = (await macpool("list", "--output", "name")).stdout.split("\n");
    const read = await runCommand([join(folder, "kubectl"), "get", name ?? "", "-o", "jsonpath={.spec.mac}"], {
      env: environment(),
    });
    expect(read.stdout).toBe(mac);
  });

  it("says in one sentence what is wrong with the question, the kubeconfig or the rights", async () => {
    expect(await macpool("frob")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^error: unknown command "frob"/),
    });
    expect(await macpool("list", "-o", "xml")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("use one of table"),
    });
    expect(await macpool("list", "--context", "moon")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: .*: context "moon" is not among its contexts: choose one \(.+\)\.\n$/),
    });
    expect(await macpool("list", "--kubeconfig", "/nowhere")).toMatchObject({
      code: 2,
      stderr: "error: Kubeconfig /nowhere does not exist: set KUBECONFIG to the path of a kubeconfig.\n",
    });
    const poor = join(folder, "poor.kubeconfig");
    await writeFile(poor, await harness.controlPlane.userKubeconfig("poor"));
    const refused = await macpool("list", "--kubeconfig", poor);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /^error: .* Nor may you read its objects: mac(claims|pools).* is forbidden: User "poor".*ClusterRoleBinding to kubemacpool-view\.\n$/,
    );
    const dead = join(folder, "dead.kubeconfig");
    await writeFile(dead, harness.controlPlane.kubeconfigText.replace(/server: .*/, "server: https://127.0.0.1:1"));
    expect((await macpool("list", "--kubeconfig", dead)).stderr).toMatch(/can't be reached \(ECONNREFUSED\)/);
  });

  it("asks in the name of another user and of groups", async () => {
    const refused = await macpool("list", "--as", "ann");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/ is forbidden: User "ann" cannot list /);
    const one = await macpool("list", "--as", "ann", "--as-group", "dev", "--as-group", "system:masters");
    expect(one.code).toBe(0);
    expect(one.stdout).toContain(mac);
  });

  it("tells a tenant before kubectl apply what would be refused, and stores nothing", async () => {
    const claims = await harness.claims();
    const manifests = manifestsInLab(mac);
    const [taken, fresh, probe, foreign, pod] = await tenant.check(manifests);
    expect([fresh, probe, pod].map((each) => each?.verdict)).toEqual(["accepted", "accepted", "accepted"]);
    const forbidden = expect.stringMatching(/ "foreign" is forbidden: User "tenant" cannot patch /);
    expect(foreign).toMatchObject({ verdict: "unchecked", findings: [{ message: forbidden }] });
    const codes = taken?.findings.map(({ code }) => code);
    expect([taken?.verdict, codes]).toEqual(["refused", [`refused by ${VM_WEBHOOK}`, "network-missing"]]);
    const { code, stderr } = await tenant.kubectl(["apply", "-f", "-"], manifests[0]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(taken?.findings[0]?.message ?? "-") });
    expect(await harness.claims()).toEqual(claims);
    await expect(harness.admin.get(RESOURCES.pods, { name: "p", namespace: "lab" })).rejects.toThrow("not found");
  });

  it("prints a network that the tenant can apply, and says which nodes have the bridge", async () => {
    const argv = ["new-network", "blue", "--bridge", "br1", "--vlan", "100", "--trunk", "200-210", "-n", "lab"];
    await createNodes(harness.admin);
    expect((await macpool(...argv)).stderr).toMatch(/^1 of 2 nodes has br1: node-a\n/);
    const printed = await tenant.macpool(argv);
    expect(printed.code).toBe(0);
    expect(printed.stderr).toMatch(/^which nodes have br1 is not visible to you: needs list on nodes\n/);
    expect(await tenant.check([printed.stdout])).toMatchObject([
      { kind: "NetworkAttachmentDefinition", verdict: "accepted" },
    ]);
    const applied = await tenant.kubectl(["apply", "-f", "-"], printed.stdout);
    expect(applied.stdout).toBe("networkattachmentdefinition.k8s.cni.cncf.io/blue created\n");
  });

  it("is completed by kubectl", async () => {
    const completer = join(folder, "kubectl_complete-macpool");
    await writeFile(completer, (await macpool("completion", "kubectl")).stdout, { mode: 0o755 });
    const complete = async (...words: string[]) =>
      (await runCommand([join(folder, "kubectl"), "__complete", "macpool", ...words], { env: environment() })).stdout;
    expect(await complete("doc")).toMatch(/^doctor\t.*\n:4\n/);
    expect(await complete("list", "-n", "la")).toBe("lab\n:4\n");
    expect(await complete("map", "def")).toBe("default\n:4\n");
  });

  it("takes credentials from a token file and from an exec plugin", async () => {
    const ref = { name: "reader", namespace: "default" };
    await harness.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
    await bindClusterRole(harness.admin, "kubemacpool-view", account("reader"));
    const issued = await harness.admin.createSubresource<{ status?: { token: string } }>(
      RESOURCES.serviceAccounts,
      ref,
      "token",
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 3600 },
      } as object,
    );
    const token = issued.status?.token ?? "";
    const credential = JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token },
    });
    await writeFile(join(folder, "token"), `${token}\n`);
    await writeFile(join(folder, "plugin"), `#!/bin/sh\ntest -n "$KUBERNETES_EXEC_INFO" && echo '${credential}'\n`, {
      mode: 0o755,
    });
    const { clusters, contexts } = parse(harness.controlPlane.kubeconfigText);
    const users = {
      file: { tokenFile: "token" },
      exec: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin" } },
    };
    for (const [name, user] of Object.entries(users)) {
      const path = join(folder, `${name}.kubeconfig`);
      const context = { ...contexts[0], context: { ...contexts[0].context, user: "u", namespace: "lab" } };
      await writeFile(
        path,
        JSON.stringify({
          clusters,
          contexts: [context],
          "current-context": context.name,
          users: [{ name: "u", user }],
        }),
      );
      expect((await macpool("list", "--kubeconfig", path)).stdout).toContain("vm/probe");
    }
  });
});
