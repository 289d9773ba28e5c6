import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FIRST } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import type { Ended } from "./support/macpool.ts";
import { CLAIM, POOL, reportOf } from "./support/objects.ts";
import { type Script, status } from "./support/scripted-cluster.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const say = (script: Script, ...argv: string[]): Promise<Ended> => harness.say(script, ...argv);

describe("the objects", () => {
  const away: Script = { proxy: status(503, "no endpoints available") };

  it("answer what they can", async () => {
    expect((await say(away, "status", "default")).stdout).toContain(
      "full in       no forecast. Only the MAC pool's service measures",
    );
    expect(await say(away, "status")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/\nNo problems\.\n$/),
    });
    expect((await say(away, "find", "5d1c")).stdout).toContain(FIRST);
    expect((await say(away, "map")).stdout).toContain("16,777,215 free, 1 bound, 0 pending");
    expect((await say(away, "map", "--from", FIRST, "--to", "02:5d:1c:00:00:b2")).stdout).toMatch(
      /each mark is one address\n\n02:5d:1c:00:00:a3 {2}B·{15}\n/,
    );
    expect((await say({ ...away, pools: [] }, "doctor")).stdout).toMatch(/^2 findings\n[\s\S]*\nNO_POOL\n/);
    expect((await say(away, "explain", "web")).stdout).toMatch(
      /^VirtualMachine default\/web .*\n\nINTERFACE.*\nnet1 +02:5d/,
    );
    expect((await say(away, "map", "nothere")).stderr).toMatch(
      /error: there is no MACPool "nothere": choose one of default\n$/,
    );
  });

  it.each([
    [
      "it does not answer",
      {},
      "it does not answer (no endpoints available)",
      "Look at the pods of Deployment kubemacpool-mac-controller-manager and at their log. While all of them are down, VMs and pods that need an address are refused.",
    ],
    [
      "the user may not ask it",
      { proxy: status(403, "no proxy for you", "Forbidden") },
      "you may not use the proxy of its Service (no proxy for you)",
      "Ask an administrator for the Role macpool-inspection of docs/guide/for-vm-owners.md, or for ClusterRole kubemacpool-view in the whole cluster.",
    ],
    [
      "nothing says where it is",
      { webhooks: status(404, "not found", "NotFound") },
      "there is no MutatingWebhookConfiguration kubemacpool-mutator, which says where it is: give --pool-namespace",
      "Do what the reason says, and ask again.",
    ],
  ] as const)("make a finding of a service that can't be asked: %s", async (_, script, reason, advice) => {
    const { exitCode, stdout } = await say({ ...away, ...script } as Script, "doctor");
    expect(exitCode).toBe(1);
    expect(stdout).toBe(`1 finding

SERVICE_AWAY
  The MAC pool's service can't be asked: ${reason}. Claims without owners, owners without claims, what waits and what is wrong with networks are not known.
  -> ${advice}

  adoption  not known
`);
  });

  it("call a full pool full, and one with wrong ranges invalid", async () => {
    const condition = (type: string, value: string, message: string) => ({
      type,
      status: value,
      reason: type,
      message,
    });
    const bad = [condition("Valid", "False", "range 1 ends before it starts"), condition("Full", "True", "full")];
    const pools = [
      { ...POOL, status: { ...POOL.status, capacity: 2, free: 0, conditions: bad.slice(1) } },
      { ...POOL, metadata: { name: "wrong" }, status: { ...POOL.status, capacity: 2, free: 0, conditions: bad } },
    ];
    const { stdout } = await say({ ...away, pools }, "doctor");
    expect(stdout).toContain(
      "POOL_FULL  MACPool default\n  None of its 2 addresses is free.\n  -> Add a range to the pool",
    );
    expect(stdout).toContain("POOL_INVALID  MACPool wrong\n  range 1 ends before it starts\n");
    expect(await say({ ...away, pools }, "status", "--no-headers")).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/^default .* now +POOL_FULL\nwrong .* POOL_INVALID\n\n2 problems: /),
    });
  });

  it("say that a pool's status is older than its spec", async () => {
    const pools = [{ ...POOL, metadata: { ...POOL.metadata, generation: 2 } }];
    const { exitCode, stdout } = await say({ ...away, pools }, "status", "default");
    expect(exitCode).toBe(1);
    expect(stdout).toContain(
      "POOL_INVALID  MACPool default\n  its status is older than its spec: is the MAC pool running?",
    );
    expect(stdout).not.toContain("No problems.");
  });

  it("do not count addresses of nodes as free where the user may read them", async () => {
    const ranges = ["02:5d:1c:00:00:a0-02:5d:1c:00:00:af", "02:5d:1d:00:00:00-02:5d:1d:00:00:0f"];
    const pools = [{ ...POOL, status: { ...POOL.status, ranges, capacity: 32, free: 29, hostAddresses: 2 } }];
    const macs = [FIRST, "02:5d:1c:00:00:a5", "02:5d:1d:00:00:00", "52:54:00:00:00:01"];
    const hosts = [reportOf("node-a", macs)];
    const { stdout } = await say({ ...away, pools, hosts }, "map");
    expect(stdout).toContain(`02:5d:1c:00:00:a0  ···B·N${"·".repeat(10)}N${"·".repeat(15)}\n`);
    expect(stdout).toContain(
      "29 free, 1 bound, 0 pending, 0 quarantined, 2 nodes' own, 0 of stations outside the cluster, 0 colliding",
    );
    expect((await say({ ...away, pools, hosts }, "status", "default")).stdout).toContain(
      "  29; 2 more are in use by nodes or stations outside the cluster\n",
    );
    const told = JSON.parse((await say({ ...away, pools, hosts }, "status", "-o", "json")).stdout).items[0];
    expect(told).toMatchObject({ free: 29, hostAddresses: 2 });
    expect(told.ranges).toMatchObject([
      { used: 1, free: 14, hostAddresses: 1 },
      { used: 0, free: 15, hostAddresses: 1 },
    ]);
    const forbidden = status(403, "no", "Forbidden");
    expect((await say({ ...away, pools, hosts: forbidden }, "map")).stdout).toContain("0 quarantined, 0 colliding");
  });

  it("tell the address of a node from a free one, as far as the user may read", async () => {
    const reports = [
      reportOf("node-a", ["02:5d:1c:00:00:b0"]),
      { ...reportOf("node-b", ["02:00:00:00:00:b1"]), metadata: { name: "node-b" } },
    ];
    const find = async (mac: string, hosts: Script["hosts"]) =>
      (await say({ ...away, hosts, claims: [] }, "find", mac)).stdout;
    expect(await find("02:5d:1c:00:00:b0", reports)).toBe(
      "02:5d:1c:00:00:b0 is the address of interface eno1 of node node-a. It is in pool default.\n",
    );
    expect(await find("02:00:00:00:00:b1", reports)).toBe("02:00:00:00:00:b1 is free. It is not in any pool.\n");
    expect(await find("ab:00:00:00:00:01", reports)).toBe(
      "ab:00:00:00:00:01 is a multicast address, which no interface can have. It is not in any pool.\n",
    );
    expect(await find("02:5d:1c:00:00:b0", status(403, "no", "Forbidden"))).toBe(
      "No VM, VMI or pod has 02:5d:1c:00:00:b0. It is in pool default. You may not read NodeMACs, which say whether a node has it.\n",
    );
  });

  it("show an address that an object and a node have, as far as the user may read", async () => {
    const hosts = [reportOf("node-a", [FIRST, "52:54:00:00:00:01"])];
    const also = "is also the address of interface eno1 of node node-a.";
    expect((await say({ ...away, hosts }, "find", "web")).stdout).toContain(`${FIRST} ${also} They disturb each other`);
    expect((await say({ ...away, hosts }, "explain", "web")).stdout).toContain(`${FIRST} ${also} They disturb`);
    const { exitCode, stdout } = await say({ ...away, hosts }, "doctor");
    expect(exitCode).toBe(1);
    expect(stdout).toContain(
      `HOST_CONFLICT  ${FIRST}  VirtualMachine default/web\n  ${FIRST} ${also}\n  -> They disturb each other on the same network.`,
    );
    expect((await say({ ...away, hosts }, "doctor", "-n", "lab")).stdout).not.toContain("HOST_CONFLICT");
    const forbidden = { ...away, hosts: status(403, "no", "Forbidden") };
    expect((await say(forbidden, "find", "web")).stdout).toContain(`Whether a node has ${FIRST} is not known`);
  });

  it("count conflicts with nodes as a problem of the pool, unless its policy is that they may be", async () => {
    const pool = (hostAddressPolicy: string) => ({
      ...POOL,
      spec: { ...POOL.spec, hostAddressPolicy },
      status: { ...POOL.status, hostConflicts: 2 },
    });
    const warned = await say({ ...away, pools: [pool("Warn")] }, "status", "default");
    expect(warned.exitCode).toBe(1);
    expect(warned.stdout).toContain("conflicts     0, and 2 with nodes\n");
    const finding = "HOST_CONFLICT  MACPool default\n  2 addresses of objects are also of a node.\n";
    expect(warned.stdout).toContain(finding);
    expect((await say({ ...away, pools: [pool("Warn")] }, "doctor")).stdout).toContain(finding);
    const off = await say({ ...away, pools: [pool("Off")] }, "status", "default");
    expect(off.exitCode).toBe(0);
    expect(off.stdout).toContain("conflicts     0, and 2 with nodes\n");
  });

  it("say of a VM what is not known without the service, and nothing in its place", async () => {
    const refusals = "\nWhat was refused, and interfaces without a claim, are not known without the service.\n";
    const gone = await say(away, "explain", "web");
    expect(gone.stdout).toMatch(/^VirtualMachine default\/web does not exist\n\nINTERFACE/);
    expect(gone.stdout.endsWith(refusals)).toBe(true);
    const other: Script["other"] = (path) =>
      path.endsWith("/virtualmachines/web") ? { body: { metadata: { name: "web" } } } : undefined;
    expect((await say({ ...away, other }, "explain", "web")).stdout).toMatch(
      /^VirtualMachine default\/web is not running\n/,
    );
    const noInstances: Script["other"] = (path, query) =>
      path.includes("/virtualmachineinstances/") ? status(403, "no", "Forbidden") : other(path, query);
    expect((await say({ ...away, other: noInstances }, "explain", "web")).stdout).toMatch(
      /^VirtualMachine default\/web\nWhere it runs is not known without the service\.\n/,
    );
    const nothing: Script = { ...away, other: () => status(403, "no", "Forbidden") };
    const { stdout } = await say(nothing, "explain", "web");
    expect(stdout).toMatch(
      /^VirtualMachine default\/web\nWhether it exists, and where it runs, is not known without the/,
    );
    expect(stdout.endsWith(refusals)).toBe(true);
    const told = JSON.parse((await say(nothing, "explain", "web", "-o", "json")).stdout);
    expect(told).toMatchObject({ exists: null, node: null });
    expect((await say(nothing, "find", "web")).stdout).toContain("  running on  not known without the service\n");
    const none = await say({ ...away, claims: [] }, "explain", "web-3");
    expect(none).toMatchObject({ exitCode: 1, stdout: "" });
    expect(none.stderr).toMatch(
      /\nno VM, VMI or pod default\/web-3 has an address; whether one was refused is not known without the service\n$/,
    );
  });

  it.each([
    ["denials", "the denials"],
    ["namespaces", "the rules of each namespace"],
    ["check 02:00:00:00:00:01", "what would be accepted"],
  ])("do not know %s, and it is said in one line", async (words, what) => {
    expect(await say(away, ...words.split(" "))).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: only the MAC pool's service knows ${what}. It can't be asked: it does not answer (no endpoints available)\n`,
    });
  });

  it("say of claims that version 0.1 has written what they say of others", async () => {
    const claims = ["Allocated", "Pending", "Bound"].map((phase, index) => ({
      metadata: { name: `mac-02-5d-1c-00-00-0${index}` },
      spec: { ...CLAIM.spec, mac: `02:5d:1c:00:00:0${index}` },
      status: { ...CLAIM.status, phase },
    }));
    const { stdout } = await say({ ...away, claims }, "list", "-o", "json");
    expect(JSON.parse(stdout).items.map(({ phase }: { phase: string }) => phase)).toEqual(Array(3).fill("Allocated"));
    expect((await say({ ...away, claims }, "map")).stdout).toContain(" 3 bound, 0 pending");
    expect((await say(away, "find", FIRST)).stdout).toContain(`${FIRST} is allocated to VirtualMachine default/web\n`);
  });

  it("count each range where a pool has several", async () => {
    const ranges = ["02:5d:1c:00:00:00-02:5d:1c:00:00:ff", "02:5d:1d:00:00:00-02:5d:1d:00:00:ff"];
    const two = { ...POOL, status: { ...POOL.status, ranges, capacity: 512 } };
    const { stdout } = await say({ ...away, pools: [two] }, "status", "-o", "json");
    expect(JSON.parse(stdout).items[0].ranges).toMatchObject([
      { first: "02:5d:1c:00:00:00", used: 1, free: 255 },
      { first: "02:5d:1d:00:00:00", used: 0, free: 256 },
    ]);
  });

  it("tell a range as it was written, although no pool gives out the multicast addresses in it", async () => {
    const pieces = Array.from({ length: 3 }, (_, index) => {
      const octet = (0xaa + 2 * index).toString(16);
      return `${octet}:00:00:00:00:00-${octet}:${index === 2 ? "a8:11:22:33:44" : "ff:ff:ff:ff:ff"}`;
    });
    const pools = [{ ...POOL, status: { ...POOL.status, ranges: pieces, capacity: 2_920_865_215_301, used: 1 } }];
    const claims = [{ ...CLAIM, spec: { ...CLAIM.spec, mac: "ac:00:00:00:00:07" } }];
    expect((await say({ ...away, pools, claims }, "status", "default")).stdout).toMatch(
      /\n {2}ranges +aa:00:00:00:00:00-ae:a8:11:22:33:44 .*\n {2}exclusions/,
    );
    expect((await say({ ...away, pools, claims }, "ranges")).stdout).toMatch(
      /^POOL.*\ndefault +aa:00:00:00:00:00 +ae:a8:11:22:33:44 +2,920,865,215,301 +1 *\n$/,
    );
    expect((await say({ ...away, pools, claims }, "list")).stdout).toContain("ac:00:00:00:00:07");
  });
});
