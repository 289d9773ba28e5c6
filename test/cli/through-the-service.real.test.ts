import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { type CommandResult, runCommand } from "../cluster/command.ts";
import { machine, macsOf } from "../mac-pool/machines.ts";
import { POOL_NAMESPACE, type PoolFixture } from "../mac-pool/pool-fixture.ts";
import { viewerToken } from "../mac-pool/viewer-token.ts";
import { eventually } from "../support/eventually.ts";
import { Random } from "../support/random.ts";
import { CliProcess } from "./support/cli-process.ts";
import { createNetwork, letUseProxy, startServedPool } from "./support/pool-service.ts";

describe("kubectl macpool through the API server's proxy", () => {
  let pool: PoolFixture;
  let cli: CliProcess;
  let mac: string;

  beforeAll(async () => {
    cli = await CliProcess.build();
    pool = await startServedPool();
    cli.kubeconfig = await kubeconfig("viewer", "cluster");
    await pool.admin.create(RESOURCES.namespaces, { metadata: { name: "lab" } });
    const vm = await pool.admin.create(KINDS.virtualMachines, machine("web", "default", [{ name: "net1" }]));
    mac = macsOf(vm)[0] ?? "";
    await pool.admin.create(
      KINDS.virtualMachines,
      machine("probe", "lab", [{ name: "a", macAddress: "02:00:00:00:00:01" }]),
    );
    const refused = pool.admin.create(
      KINDS.virtualMachines,
      machine("web-2", "default", [{ name: "net1", macAddress: mac }]),
    );
    await expect(refused).rejects.toThrow(mac);
    await createNetwork(pool);
    await eventually("the replica knows both VMs", async () => {
      const { items = [] } = JSON.parse((await macpool("list", "-A", "-o", "json")).stdout || "{}");
      return items.length === 2 && items.every(({ phase }: { phase: string }) => phase === "Bound");
    });
  });
  afterAll(async () => {
    await pool?.[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  async function kubeconfig(name: string, where: Parameters<typeof viewerToken>[2]): Promise<string> {
    return cli.write(`${name}.kubeconfig`, pool.controlPlane.tokenKubeconfig(await viewerToken(pool, name, where)));
  }

  // The API server of the fixture asks the webhooks by a URL, which says nothing about a Service.
  const macpool = (...args: string[]): Promise<CommandResult> => cli.run(...args, "--pool-namespace", POOL_NAMESPACE);

  it("answers every command with the pool's own knowledge and the viewer's rights", async () => {
    const expected: readonly (readonly [string[], number, RegExp])[] = [
      [["networks"], 0, /br1 on the only node +filtering on[\s\S]* default\/blue +100 +inherit[^\n]* 0 +-\n/],
      [["network", "blue"], 0, /^Network default\/blue\n[\s\S]*node-b +0 +starts\n$/],
      [["status", "default"], 0, /used +1 \(<0\.1 %\): 1 bound[\s\S]*full in +no forecast\. A forecast takes an hour/],
      [["list", "-A"], 0, new RegExp(`${mac} +default +vm/web`)],
      [["find", mac], 0, new RegExp(`^${mac} is held by VirtualMachine default/web\n`)],
      [["explain", "web"], 0, new RegExp(`^VirtualMachine default/web is not running\n[\\s\\S]*net1 +${mac} +Bound`)],
      [["explain", "web-2"], 1, /^VirtualMachine default\/web-2 was refused \d+ seconds? ago:\n {2}.*in use/],
      [["check", mac, "-n", "lab"], 1, new RegExp(`^${mac} would be refused in namespace lab\n`)],
      [["check", "02:5d:1c:00:00:ff"], 0, /^02:5d:1c:00:00:ff would be accepted in namespace default\n/],
      [["denials"], 0, new RegExp(`vm/default/web-2 +net1 +${mac} +CONFLICT\n`)],
      [["namespaces"], 0, /^default +managed +ignored +default +1 +-$/m],
      [["map"], 0, /each mark is 32,768 addresses\n[\s\S]*16,777,215 free, 1 bound/],
      [["ranges"], 0, /^default +02:5d:1c:00:00:00 +02:5d:1c:ff:ff:ff +16,777,216 +1$/m],
    ];
    for (const [args, code, pattern] of expected) {
      const ended = await macpool(...args);
      expect(ended, args.join(" ")).toMatchObject({ code, stderr: "" });
      expect(ended.stdout, args.join(" ")).toMatch(pattern);
    }
    expect(await macpool("collisions", "-A")).toMatchObject({
      code: 0,
      stderr: "No running object in the cluster shares its address.\n",
    });
    expect((await macpool("doctor")).stdout).toMatch(/leader +one/);
  });

  it("shows a tenant the own namespace, and says nothing about others", async () => {
    const tenant = await kubeconfig("tenant", { namespace: "lab" });
    await letUseProxy(pool, "tenant");
    const list = await macpool("list", "-n", "lab", "--kubeconfig", tenant);
    expect(list).toMatchObject({ code: 0, stderr: "" });
    expect(list.stdout).toContain("02:00:00:00:00:01");
    expect(list.stdout).not.toContain(mac);
    const own: readonly (readonly [string[], number, RegExp])[] = [
      [["find", "02:00:00:00:00:01"], 0, /^02:00:00:00:00:01 is held by VirtualMachine lab\/probe\n/],
      [["find", "probe"], 0, /^02:00:00:00:00:01 is held by VirtualMachine lab\/probe\n/],
      [["find", "02:5d:1c:00:00:ff"], 0, /^02:5d:1c:00:00:ff is free\. It is in the range of a pool\.\n$/],
      [["find", mac], 0, /is held by 1 object in namespaces that you may not see\. It is in the range of a pool\.\n$/],
      [["doctor"], 0, /^Nothing is inconsistent in namespace lab\.\n {2}adoption {2}/],
      [["namespaces"], 0, /^NAMESPACE .*\nlab +managed +ignored +default +1 +-\n$/],
      [["explain", "probe"], 0, /^VirtualMachine lab\/probe is not running\n/],
      [["check", mac], 1, /would be refused in namespace lab\n/],
      [["denials"], 0, /^$/],
      [["collisions"], 0, /^$/],
    ];
    for (const [args, code, pattern] of own) {
      const ended = await macpool(...args, "-n", "lab", "--kubeconfig", tenant);
      expect(ended.stdout, `${args.join(" ")}: ${ended.stderr}`).toMatch(pattern);
      expect(ended, args.join(" ")).toMatchObject({ code });
      expect(ended.stdout + ended.stderr, args.join(" ")).not.toMatch(/default\/web|web-2/);
    }
    const others = [
      ["list", "-A"],
      ["list", "-n", "default"],
      ["find", "02:5d:1c:00:00:ff"],
      ["find", "probe"],
      ["doctor"],
      ["namespaces", "-A", "-n", "lab"],
      ["status"],
      ["explain", "default/web"],
    ];
    for (const args of others) {
      const refused = await macpool(...args, "--kubeconfig", tenant);
      expect(refused, args.join(" ")).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toMatch(/^error: User "[^"]+:tenant" may not .*Binding to kubemacpool-view.*\n$/);
      expect(refused.stderr, args.join(" ")).not.toContain("?namespace=");
    }
    const { stderr } = await macpool("doctor", "--kubeconfig", tenant);
    expect(stderr).toMatch(/ For what is in your namespace, name it: -n NAMESPACE\.\n$/);
  });

  it("says in the words of the command line what is refused", async () => {
    const sentences: readonly (readonly [string[], RegExp])[] = [
      [["list", "-n", "Lab"], /^error: the namespace must be a Kubernetes name: .*\n$/],
      [["explain", "default/Web"], /^error: the name must be a Kubernetes name: .*\n$/],
      [["find", "x".repeat(300)], /^error: the text to look for must have 1 to 253 characters.*\n$/],
      [["map", "defalt"], /^error: there is no MACPool "defalt": choose one of default.*\n$/],
    ];
    for (const [args, sentence] of sentences) {
      const ended = await macpool(...args);
      expect(ended.stderr).toMatch(sentence);
      expect(ended).toMatchObject({ code: 2, stdout: "" });
    }
  });

  it("finds the node that has an address", async () => {
    const node = await pool.admin.create(RESOURCES.nodes, { metadata: { name: "node-a" } });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "node-a", uid: node.metadata.uid ?? "" }];
    await pool.admin.create(KINDS.nodeMacs, {
      metadata: { name: "node-a", ownerReferences },
      addresses: [{ mac: "02:5d:1c:00:00:b0", interface: "eno1" }],
    });
    const told = "02:5d:1c:00:00:b0 is the address of interface eno1 of node node-a. It is in pool default.\n";
    await eventually("the replica says so", async () => (await macpool("find", "02:5d:1c:00:00:b0")).stdout === told);
    // Without --pool-namespace, from the objects.
    expect((await cli.run("find", "02:5d:1c:00:00:b0")).stdout).toBe(told);
    expect((await cli.run("find", "02:5d:1c:00:00:b1")).stdout).toBe(
      "02:5d:1c:00:00:b1 is free. It is in pool default.\n",
    );
  });

  it("says why it reads the objects, and what is missing then", async () => {
    const unplaced = await cli.run("list");
    expect(unplaced.stdout).toContain(mac);
    expect(unplaced.stderr).toMatch(
      /^note: the MAC pool's service can't be asked: .* leads to no Service: give --pool-namespace\. This answer is from .*\n$/,
    );
    const nobody = await kubeconfig("nobody", "nowhere");
    const refused = await macpool("list", "--kubeconfig", nobody);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^error: you may not ask the MAC pool, because you have no Role macpool-insp/);
    const absent = await cli.run("denials", "--pool-namespace", "default");
    expect(absent).toMatchObject({ code: 2, stdout: "" });
    expect(absent.stderr).toMatch(/^error: .* knows the denials\. .*: its Service does not exist there\n$/);
  });

  it("tells changes as they happen until it is ended", async () => {
    const watching = cli.start("watch", "-A", "-o", "json", "--pool-namespace", POOL_NAMESPACE);
    let told = "";
    watching.stdout?.on("data", (chunk) => {
      told += chunk;
    });
    const events = () =>
      told
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { type: string; object: { mac: string } });
    await eventually("it has told what there is", () => events().length === 2);
    const made = await pool.admin.create(KINDS.virtualMachines, machine("brief", "default", [{ name: "net1" }]));
    const [own] = macsOf(made);
    await eventually("it tells the new claim", () =>
      events().some(({ type, object }) => type === "ADDED" && object.mac === own),
    );
    await pool.admin.delete(KINDS.virtualMachines, { name: "brief", namespace: "default" });
    await eventually("it tells the end", () => events().filter(({ object }) => object.mac === own).length >= 2);
    watching.kill("SIGINT");
    const [code] = await once(watching, "exit");
    expect(code).toBe(0);
  });

  it("serves the page on loopback to who has the secret of the run, and to nobody else", async () => {
    const serving = cli.start("ui", "--no-browser", "--pool-namespace", POOL_NAMESPACE);
    let said = "";
    serving.stdout?.on("data", (chunk) => {
      said += chunk;
    });
    await eventually("it has said where", () => /http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}\/\n/.test(said));
    const url = new URL(/http:\S+/.exec(said)?.[0] ?? "");
    const page = await fetch(url);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(page.headers.get("content-security-policy")).toContain("default-src");
    const list = await fetch(new URL("api/v1/claims", url));
    expect(((await list.json()) as { items: { mac: string }[] }).items.map((claim) => claim.mac)).toContain(mac);
    const status = async (path: string, options: { method?: string; headers?: Record<string, string> } = {}) => {
      const asked = request({ host: "127.0.0.1", port: url.port, path, ...options }).end();
      const [answer] = await once(asked, "response");
      answer.resume();
      return answer.statusCode;
    };
    const { pathname } = url;
    expect(await status("/")).toBe(403);
    expect(await status(`/${"A".repeat(43)}/api/v1/claims`)).toBe(403);
    expect(await status(pathname, { headers: { host: `macpool.example:${url.port}` } })).toBe(421);
    expect(await status(pathname, { headers: { origin: "http://elsewhere.example" } })).toBe(403);
    expect(await status(`${pathname}api/v1/claims`, { method: "POST" })).toBe(405);
    for (const way of [
      "../../../../../../../secrets",
      "..%2f..%2f..%2f..%2fsecrets",
      "%2e%2e/%2e%2e/secrets",
      "a//b",
    ]) {
      expect(await status(pathname + way), way).toBe(404);
    }
    serving.kill("SIGTERM");
    const [code] = await once(serving, "exit");
    expect(code).toBe(0);
  });

  it("agrees with kubectl get macclaim after any history, with both backends", async () => {
    const random = new Random(2026);
    const names: string[] = [];
    for (let step = 0; step < 24; step++) {
      const index = Math.floor(random.next() * names.length);
      if (names.length > 4 && random.next() < 0.4) {
        const [name = ""] = names.splice(index, 1);
        await pool.admin.delete(KINDS.virtualMachines, { name, namespace: "lab" });
      } else {
        const name = `vm-${step}`;
        const own = random.next() < 0.3 ? { macAddress: `02:aa:00:00:00:${(16 + step).toString(16)}` } : {};
        await pool.admin.create(KINDS.virtualMachines, machine(name, "lab", [{ name: "a", ...own }, { name: "b" }]));
        names.push(name);
      }
    }
    const viewOf = (
      items: readonly { mac: string; phase: string; owners: readonly { name?: string; interface: string }[] }[],
    ) =>
      items.map(({ mac, phase, owners }) => ({
        mac,
        phase,
        owners: owners.map(({ name, interface: nic }) => `${name}/${nic}`),
      }));
    await eventually("kubectl, REST and the objects say the same", async () => {
      const kubectl = await runCommand([pool.controlPlane.kubectlPath, "get", "macclaim", "-o", "json"], {
        env: cli.env,
      });
      const objects = (JSON.parse(kubectl.stdout).items as MACClaim[]).map(({ spec, status }) => ({
        mac: spec.mac,
        phase: status?.phase ?? "",
        owners: status?.owners ?? [],
      }));
      const rest = await macpool("list", "-A", "-o", "json");
      const own = await cli.run("list", "-A", "-o", "json");
      expect(rest.stderr).toBe("");
      expect(own.stderr).toContain("from MACPool and MACClaim objects");
      const [one, two, three] = [objects, JSON.parse(rest.stdout).items, JSON.parse(own.stdout).items].map(viewOf);
      const known = one?.map((claim) => ({ ...claim, phase: claim.phase.replace("Allocated", "Bound") }));
      expect(two).toEqual(known);
      expect(three).toEqual(one);
      return objects.length > 10;
    });
  });

  it("goes on from the objects when the pool is down", async () => {
    await pool.killReplica("one");
    const list = await macpool("list");
    expect(list.code).toBe(0);
    expect(list.stdout).toContain(mac);
    expect(list.stderr).toMatch(/^note: .*: it does not answer \(.*\)\. This answer is from .*\n$/);
    expect((await macpool("status")).stdout).toMatch(/\ndefault .* no forecast +-\n\nNo problems\.\n$/);
    expect((await macpool("explain", "web")).stdout).toMatch(new RegExp(`net1 +${mac}`));
    expect((await macpool("map")).stdout).toMatch(/16,777,\d+ free/);
    const doctor = await macpool("doctor");
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(
      /^1 finding\n\nSERVICE_AWAY\n {2}The MAC pool's service can't be asked: it does not answer .*\n {2}-> Look at the pods/,
    );
    const denials = await macpool("denials");
    expect(denials).toMatchObject({ code: 2, stdout: "" });
    expect(denials.stderr).toMatch(
      /^error: only the MAC pool's service knows .*\. It can't be asked: it does not answer/,
    );
  });
});
