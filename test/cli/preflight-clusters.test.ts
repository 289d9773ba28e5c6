import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckLine } from "../../src/cli/preflight/check-line.ts";
import { machine } from "../mac-pool/machines.ts";
import { macpool } from "./support/macpool.ts";
import { FORBIDDEN, nodeOf, type PreflightCluster, scriptOf } from "./support/preflight-cluster.ts";
import { kubeconfigOf, ScriptedCluster } from "./support/scripted-cluster.ts";

const FIRST = "02:5d:1c:00:00:00";
const RANGE = `${FIRST}-02:5d:1c:ff:ff:ff`;

const config = (rangeStart: string, rangeEnd: string): PreflightCluster => ({
  objects: { "networkaddonsconfigs/cluster": { metadata: {}, spec: { kubeMacPool: { rangeStart, rangeEnd } } } },
});
const poolOf = (name: string, prefix: string): object => ({
  metadata: { name },
  spec: { ranges: [{ start: `${prefix}:00:00:00`, end: `${prefix}:00:ff:ff` }] },
});
const vm = (name: string) => machine(name, "lab", [{ name: "net1", macAddress: FIRST }]);

describe("preflight beside other clusters", () => {
  let clusters: readonly ScriptedCluster[];
  let folder: string;
  let kubeconfig: string;

  const system = (uid: string) => ({ "namespaces/kube-system": { metadata: { uid } } });
  const start = (uid: string, { objects = {}, ...cluster }: PreflightCluster): Promise<ScriptedCluster> =>
    ScriptedCluster.start(scriptOf({ ...cluster, objects: { ...objects, ...system(uid) } }));

  beforeAll(async () => {
    const [own, east, west] = [
      await start("own", { lists: { nodes: [nodeOf("a")], virtualmachines: [vm("web")] } }),
      await start("east", {
        ...config("02:5d:1c:80:00:00", "02:5d:1d:00:00:00"),
        lists: { virtualmachines: [vm("db")] },
      }),
      await start("west", {
        groups: { "macpool.network.kubevirt.io": ["v1alpha1"] },
        pools: [poolOf("default", "02:99:00"), poolOf("lab", "02:98:00")],
        lists: { pods: FORBIDDEN },
      }),
    ];
    clusters = [own, east, west];
    folder = await mkdtemp(join(tmpdir(), "macpool-preflight-"));
    kubeconfig = join(folder, "kubeconfig");
    const away = { ...east.parts("away"), cluster: { name: "away", cluster: { server: "https://127.0.0.1:1" } } };
    const parts = [own.parts("own"), east.parts("east"), west.parts("west"), own.parts("same"), away];
    await writeFile(kubeconfig, kubeconfigOf(...(parts as ReturnType<ScriptedCluster["parts"]>[])));
  });
  afterAll(async () => {
    await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  });

  async function compared(
    contexts: string,
    check: string,
  ): Promise<{ readonly exitCode: number; readonly lines: readonly CheckLine[] }> {
    const argv = ["preflight", "--range", RANGE, "--contexts", contexts, "-o", "json"];
    const { stdout, exitCode } = await macpool(kubeconfig, argv);
    return { exitCode, lines: JSON.parse(stdout).items.filter((one: CheckLine) => one.check === check) };
  }

  it("names a range that another one hands out too, and proposes one that none has", async () => {
    const { exitCode, lines } = await compared("east", "range");
    expect(exitCode).toBe(1);
    expect(lines.slice(1)).toEqual([
      {
        check: "range",
        state: "do",
        text: "Context east hands out 02:5d:1c:80:00:00-02:5d:1c:ff:ff:ff too (8,388,608 addresses): take another range.",
        commands: [
          expect.stringMatching(
            /^kubectl macpool preflight --contexts east --range 02:(..:..):00:00:00-02:\1:ff:ff:ff$/,
          ),
        ],
      },
    ]);
    const [, prefix] = /02:(..:..):/.exec(lines[1]?.commands?.[0] ?? "") ?? [];
    expect(["5d:1c", "5d:1d"]).not.toContain(prefix);
  });

  it("proposes a range where none is set", async () => {
    const argv = ["preflight", "--contexts", "east", "-n", "cnao", "--request-timeout=9", "--as=admin", "-o", "json"];
    const { stdout } = await macpool(kubeconfig, argv);
    const [line] = JSON.parse(stdout).items.filter(({ check }: CheckLine) => check === "range");
    expect(line).toMatchObject({
      state: "note",
      commands: [expect.stringMatching(/^kubectl macpool preflight --as admin -n cnao --contexts east --range 02:/)],
    });
  });

  it("compares with every pool of another one", async () => {
    const argv = ["preflight", "--range", "02:98:00:00:ff:00-02:98:00:01:ff:ff", "--contexts", "west", "-o", "json"];
    const { stdout } = await macpool(kubeconfig, argv);
    expect(JSON.parse(stdout).items.map(({ text }: CheckLine) => text)).toContain(
      "Context west hands out 02:98:00:00:ff:00-02:98:00:00:ff:ff too (256 addresses): take another range.",
    );
  });

  it("names addresses that objects of both have", async () => {
    expect((await compared("east", "addresses")).lines.map(({ text }) => text)).toEqual([
      `${FIRST} belongs to VirtualMachine lab/web, and in context east to VirtualMachine lab/db.`,
      "No MAC address belongs to several objects; 1 in use.",
    ]);
  });

  it("says what of another one it could not read, and what it is", async () => {
    const { exitCode, lines } = await compared("west,away,moon,same", "range");
    expect(exitCode).toBe(2);
    expect(lines.slice(1)).toEqual([
      {
        check: "range",
        state: "unchecked",
        text: expect.stringMatching(/^context away: .*can't be reached \(ECONNREFUSED\)/),
      },
      {
        check: "range",
        state: "unchecked",
        text: expect.stringMatching(/^context moon: .*context "moon" is not among its contexts/),
      },
      { check: "range", state: "note", text: "Context same is this cluster: it is not compared with itself." },
      { check: "range", state: "ok", text: "west hands out none of these addresses." },
    ]);
    expect((await compared("west", "addresses")).lines).toContainEqual({
      check: "addresses",
      state: "unchecked",
      text: "context west: addresses of pods: needs list on pods",
    });
  });
});
