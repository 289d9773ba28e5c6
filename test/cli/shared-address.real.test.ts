import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VM_WEBHOOK } from "../../src/api/names.ts";
import type { Step, Way } from "../../src/api/way.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import type { CommandResult } from "../cluster/command.ts";
import { guestSpec, instanceOf, machine } from "../mac-pool/machines.ts";
import { POOL_NAMESPACE, PoolFixture } from "../mac-pool/pool-fixture.ts";
import { viewerToken } from "../mac-pool/viewer-token.ts";
import { eventually } from "../support/eventually.ts";
import { CliProcess } from "./support/cli-process.ts";
import { exposeInspection, letUseProxy } from "./support/pool-service.ts";

const MAC = "02:5d:1c:00:00:01";
const SECRETS = /secret|hidden|outside|node-b/;

describe("a tenant whose VM shares its address with VMs of others, under DenyRunning", () => {
  let pool: PoolFixture;
  let cli: CliProcess;
  let web: KubeObject;

  beforeAll(async () => {
    cli = await CliProcess.build();
    pool = await PoolFixture.start();
    await pool.startReplica("one");
    const ranges = [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }];
    await pool.createPool("default", { ranges, conflictPolicy: "DenyRunning" });
    await pool.registerWebhooks();
    await exposeInspection(pool, "one");
    for (const [name, labels] of [
      ["lab", {}],
      ["hidden", {}],
      ["outside", { [VM_WEBHOOK]: "ignore" }],
    ] as const) {
      await pool.admin.create(RESOURCES.namespaces, { metadata: { name, labels } });
    }
    const token = await viewerToken(pool, "tenant", { namespace: "lab" });
    await letUseProxy(pool, "tenant");
    cli.kubeconfig = await cli.write("tenant", pool.controlPlane.tokenKubeconfig(token));
    web = await pool.admin.create(
      KINDS.virtualMachines,
      machine("web", "lab", [{ name: "a", macAddress: MAC, on: "pod" }]),
    );
  });
  afterAll(async () => {
    await pool?.[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  const macpool = async (...args: string[]): Promise<CommandResult> => {
    const ended = await cli.run(...args, "-n", "lab", "--pool-namespace", POOL_NAMESPACE);
    expect(ended.stdout + ended.stderr, args.join(" ")).not.toMatch(SECRETS);
    return ended;
  };
  const alone = async (): Promise<Step | undefined> => {
    const { way } = JSON.parse((await macpool("explain", "web", "-o", "json")).stdout) as { way: Way[] };
    return way[0]?.steps.find(({ step }) => step === "alone");
  };
  /** What virt-handler writes once the guest runs. */
  const run = async (vmi: KubeObject, nodeName: string): Promise<void> => {
    const { name = "", namespace = "" } = vmi.metadata;
    const body = { status: { phase: "Running", nodeName, interfaces: [{ name: "a", mac: MAC }] } };
    await pool.admin.patch(KINDS.instances, { name, namespace }, { type: "merge", body }, { subresource: "status" });
  };
  const start = (vm: KubeObject): Promise<KubeObject> => pool.admin.create(KINDS.instances, instanceOf(vm));

  it("is told by explain that another object has it, as by the refusal of the start, before that one runs and after", async () => {
    const twin = await pool.admin.create(
      KINDS.virtualMachines,
      machine("secret", "hidden", [{ name: "a", macAddress: MAC, on: "pod" }]),
    );
    const instance = await start(twin);
    await expect(start(web)).rejects.toThrow("is running");
    const told = `${MAC} is also in use by 1 object in namespaces that you may not see`;
    await eventually("one that starts", async () => (await alone())?.text === told);
    expect(await alone()).toMatchObject({ state: "wrong" });
    await run(instance, "node-b");
    await eventually("one that runs", async () => (await alone())?.text === told);
    await pool.admin.delete(KINDS.instances, { name: "secret", namespace: "hidden" });
    const over = `no other running object and no node has ${MAC} now; one had it when the start was refused`;
    await eventually("nobody any more", async () => (await alone())?.text === over);
    await pool.admin.delete(KINDS.virtualMachines, { name: "secret", namespace: "hidden" });
  });

  it("is told of one that opted out by every command, and never its name", async () => {
    await eventually("the start is judged anew", () =>
      start(web).then(
        (vmi) => run(vmi, "node-a").then(() => true),
        () => false,
      ),
    );
    const watching = cli.start("watch", "-n", "lab", "-o", "json", "--pool-namespace", POOL_NAMESPACE);
    let watched = "";
    watching.stdout?.on("data", (chunk) => {
      watched += chunk;
    });
    const spec = guestSpec([{ name: "a", macAddress: MAC, on: "pod" }]);
    const stranger = { metadata: { name: "secret", namespace: "outside" }, spec } as KubeObject;
    await run(await pool.admin.create(KINDS.instances, stranger), "node-b");
    await eventually("the collision", async () => (await macpool("collisions")).code === 1);
    expect((await macpool("collisions")).stdout).toContain(
      `${MAC} is also used by 1 object in namespaces that you may not see.`,
    );
    expect((await macpool("collisions", "-o", "json")).stdout).toContain('"elsewhere": 1');
    expect((await macpool("find", MAC)).stdout).toContain("VirtualMachine lab/web");
    expect(await alone()).toMatchObject({
      state: "wrong",
      text: expect.stringContaining("1 object in namespaces that you may not see"),
    });
    for (const args of [["check", MAC], ["doctor"], ["list"], ["denials"]]) await macpool(...args);
    await eventually("the watch has told the claim", () => watched.includes(MAC));
    watching.kill("SIGINT");
    await once(watching, "exit");
    expect(watched).not.toMatch(SECRETS);
  });
});
