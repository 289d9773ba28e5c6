import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AGO, FIRST } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import type { Ended } from "./support/macpool.ts";
import { CLAIM, reportOf } from "./support/objects.ts";
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

  it("tell the address of a station outside the cluster from a node's own, from a free one and from one of a VM", async () => {
    const station = (mac: string, lastSeen: string) => ({ mac, bridge: "br1", uplink: "eno2", lastSeen });
    const [theirs, forgotten] = ["02:5d:1c:00:00:a4", "02:5d:1c:00:00:a6"];
    const stations = [station(FIRST, AGO(0)), station(theirs, AGO(60)), station(forgotten, AGO(1_900))];
    const hosts = [{ ...reportOf("node-a", ["02:5d:1c:00:00:a5"]), stations }];
    const script = { ...away, hosts, claims: [CLAIM] };
    expect((await say(script, "find", theirs)).stdout).toBe(
      `${theirs} is the address of a station outside the cluster, seen at uplink eno2 of node node-a. It is in pool default.\n`,
    );
    expect((await say(script, "find", forgotten)).stdout).toBe(`${forgotten} is free. It is in pool default.\n`);
    expect((await say(script, "find", FIRST)).stdout).not.toContain("station");
    const { stdout } = await say(script, "map", "--from", "02:5d:1c:00:00:a0", "--to", "02:5d:1c:00:00:a7");
    expect(stdout).toContain("02:5d:1c:00:00:a0  ···BSN··\n");
    expect(stdout).toContain("1 nodes' own, 1 of stations outside the cluster, 0 colliding");
    expect((await say(script, "ranges")).stdout).toContain(
      `: 1 station outside the cluster uses an address of this range (${theirs} on node-a, uplink eno2): does another cluster`,
    );
  });

  it("are found by a part of an address, and so are nodes and stations", async () => {
    const station = (mac: string) => ({ mac, bridge: "br1", uplink: "eno2", lastSeen: AGO(0) });
    const reports = [
      { ...reportOf("node-a", ["02:5d:1c:00:00:a5"]), stations: [station(FIRST), station("02:5d:1c:00:00:a4")] },
    ];
    const script = { ...away, hosts: reports, claims: [CLAIM] };
    const both =
      "02:5d:1c:00:00:a4 is the address of a station outside the cluster, seen at uplink eno2 of node node-a.\n" +
      "02:5d:1c:00:00:a5 is the address of interface eno1 of node node-a.\n";
    const { stdout } = await say(script, "find", "1c:00:00:a");
    expect(stdout.split("\n\n")).toEqual([expect.stringMatching(/^MAC .*\n02:5d:1c:00:00:a3 .* vm\/web .*$/), both]);
    expect(await say(script, "find", "1c0000a5")).toMatchObject({ exitCode: 0, stdout: both.split(/(?<=\n)/)[1] });
    expect((await say(script, "find", "1c:00:00:a", "-n", "default")).stdout).not.toContain("station");
    const hidden = await say({ ...script, hosts: status(403, "no", "Forbidden") }, "find", "1c:00:00:a");
    expect(hidden.stderr).toContain(
      "note: whether a node or a station outside the cluster has such an address is not known",
    );
  });

  it("make a finding of many stations in a range", async () => {
    const macs = Array.from({ length: 16 }, (_, index) => `02:5d:1c:00:01:${index.toString(16).padStart(2, "0")}`);
    const stations = macs.map((mac) => ({ mac, bridge: "br1", uplink: "eno2", lastSeen: AGO(0) }));
    const hosts = [{ ...reportOf("node-a", []), stations }];
    const { stdout } = await say({ ...away, hosts, claims: [CLAIM] }, "doctor");
    expect(stdout).toMatch(/STATIONS_IN_RANGE {2}MACPool default\n {2}\S+: 16 stations outside the cluster/);
    const few = [{ ...reportOf("node-a", []), stations: stations.slice(1) }];
    expect((await say({ ...away, hosts: few, claims: [CLAIM] }, "doctor")).stdout).not.toContain("STATIONS_IN_RANGE");
  });

  it("find a station outside the cluster that has the address of a VM, on the VM's own node", async () => {
    const lastSeen = "2026-11-21T10:00:00Z";
    const station = { mac: FIRST, bridge: "br1", uplink: "eno2", lastSeen, lastFlap: lastSeen };
    const hosts = ["node-a", "node-b"].map((name) => ({ ...reportOf(name, []), stations: [station] }));
    const vmi = (status: object) => ({ metadata: { creationTimestamp: "2026-11-21T09:00:00Z" }, status });
    const collisions = async (status: object, reports: Script["hosts"] = hosts) => {
      const other: Script["other"] = (path) =>
        path.endsWith("/virtualmachineinstances/web") ? { body: vmi(status) } : undefined;
      return say({ ...away, hosts: reports, claims: [CLAIM], other }, "collisions", "-A", "-o", "json");
    };
    const { exitCode, stdout } = await collisions({ nodeName: "node-a" });
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout).items).toMatchObject([
      {
        mac: FIRST,
        parties: [{ kind: "VirtualMachine", namespace: "default", name: "web" }],
        stations: [{ node: "node-a", bridge: "br1", uplink: "eno2", lastSeen, lastFlap: lastSeen }],
      },
    ]);
    const doctor = await say(
      {
        ...away,
        hosts,
        claims: [CLAIM],
        other: (path) => (path.endsWith("/web") ? { body: vmi({ nodeName: "node-a" }) } : undefined),
      },
      "doctor",
    );
    expect(doctor.stdout).toContain(
      `SEEN_ELSEWHERE  ${FIRST}  VirtualMachine default/web\n  MAC ${FIRST} is also used by a station`,
    );
    const migrating = { nodeName: "node-a", migrationState: {} };
    expect((await collisions(migrating)).exitCode).toBe(0);
    expect((await collisions({ nodeName: "node-a" }, status(403, "no", "Forbidden"))).exitCode).toBe(0);
  });
});
