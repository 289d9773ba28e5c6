import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { claims, pools } from "./support/answers.ts";
import { goldenPath, onEveryTerminal } from "./support/golden.ts";
import { macpool } from "./support/macpool.ts";
import { kubeconfigOf, type Script, ScriptedCluster } from "./support/scripted-cluster.ts";

const rest =
  (own: { readonly pools?: readonly object[]; readonly claims?: readonly object[] }): NonNullable<Script["rest"]> =>
  (path) => {
    const items = (path === "pools" ? own.pools : own.claims) ?? [];
    return { body: { items, total: items.length } };
  };

let clusters: readonly ScriptedCluster[];
let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  const [first] = pools;
  clusters = [
    await ScriptedCluster.start({ rest: rest({ pools, claims }) }),
    await ScriptedCluster.start({ rest: rest({ pools: [first ?? {}], claims: claims.slice(0, 1) }) }),
    await ScriptedCluster.start({ rest: rest({ pools: pools.slice(1) }) }),
  ];
  folder = await mkdtemp(join(tmpdir(), "macpool-clusters-"));
  kubeconfig = join(folder, "kubeconfig");
  const parts = clusters.map((cluster, index) => cluster.parts(["a", "b", "c"][index] ?? ""));
  const [one] = clusters;
  if (one !== undefined) parts.push(one.parts("same"));
  await writeFile(kubeconfig, kubeconfigOf(...parts));
});
afterAll(async () => {
  await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()));
  await rm(folder, { recursive: true, force: true });
});

it("names the ranges that two clusters both hand out", async () => {
  const { exitCode, stdout, stderr } = await macpool(kubeconfig, ["ranges", "--contexts", "a,b"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
  expect(stdout).toBe(`CLUSTER   POOL      FIRST               LAST                ADDRESSES    USED   OVERLAPS
a         default   02:5d:1c:00:00:00   02:5d:1c:ff:ff:ff   16,777,216   2      b/default
a         lab       0a:00:00:00:00:00   0a:00:00:00:00:07   8            8      -
a         lab       0a:00:00:00:00:10   0a:00:00:00:00:13   4            3      -
b         default   02:5d:1c:00:00:00   02:5d:1c:ff:ff:ff   16,777,216   2      a/default

a/default 02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff: 17 stations outside the cluster use addresses of this range (for example 02:5d:1c:00:00:a4 on node-a, uplink eno2): does another cluster have this range?
b/default 02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff: 17 stations outside the cluster use addresses of this range (for example 02:5d:1c:00:00:a4 on node-a, uplink eno2): does another cluster have this range?

Overlap: a/default and b/default both hand out 02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff (16,777,216 addresses).
`);
  expect(await macpool(kubeconfig, ["ranges", "--contexts", "b,c"])).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining("No two of the 2 clusters hand out the same addresses.\n"),
  });
});

it("proposes a range, as text to paste and as json", async () => {
  const { exitCode, stdout } = await macpool(kubeconfig, ["ranges", "--contexts", "b,c", "--suggest", "--size", "256"]);
  // So many stations use addresses of one range that another cluster must have it.
  expect(exitCode).toBe(1);
  const [, first = "", last = ""] = /rangeStart: "(.*)"\n +rangeEnd: "(.*)"/.exec(stdout) ?? [];
  expect(stdout).toContain(
    `${first}-${last} is free: no range and no claim of the 2 clusters has any of its 256 addresses.\n`,
  );
  const json = JSON.parse((await macpool(kubeconfig, ["ranges", "--contexts", "b,c", "--suggest", "-ojson"])).stdout);
  expect(json).toMatchObject({ items: [{ cluster: "b" }, { cluster: "c" }, { cluster: "c" }], overlaps: [] });
  expect(json.suggestion.last).toBe(`${json.suggestion.first.slice(0, 8)}:ff:ff:ff`);
});

it("names the addresses that objects of two clusters have", async () => {
  const { exitCode, stdout, stderr } = await macpool(kubeconfig, ["collisions", "--contexts", "a,b"]);
  expect(exitCode).toBe(1);
  expect(stdout.split("\n").slice(0, 3)).toEqual([
    expect.stringMatching(/^MAC +CLUSTER +OWNER +NETWORK +PHASE$/),
    expect.stringMatching(/^02:00:00:00:00:01 +a +VirtualMachine default\/web, /),
    expect.stringMatching(/^02:00:00:00:00:01 +b +VirtualMachine default\/web, /),
  ]);
  expect(stderr).toBe("Ranges of these clusters overlap: see kubectl macpool ranges --contexts a,b\n");
  expect(await macpool(kubeconfig, ["collisions", "--contexts", "b,c"])).toEqual({
    exitCode: 0,
    stdout: "",
    stderr: "No address is in use in more than one of the 2 clusters.\n",
  });
});

it.each([
  ["ranges-contexts", ["ranges", "--contexts", "a,b"]],
  ["ranges-suggest", ["ranges", "--contexts", "b,c", "--suggest", "--size", "256"]],
  ["ranges-suggest-one", ["ranges", "--suggest"]],
  ["collisions-contexts", ["collisions", "--contexts", "a,b"]],
])("%s: on every terminal", async (name, argv) => {
  const texts = await onEveryTerminal(argv, async (terminal) => {
    const ended = await macpool(kubeconfig, argv, { terminal });
    const [, prefix] = /rangeStart: "(.{8})/.exec(ended.stdout) ?? [];
    // Of chance.
    return prefix === undefined ? ended : { ...ended, stdout: ended.stdout.replaceAll(prefix, "02:xx:xx") };
  });
  await expect(texts).toMatchFileSnapshot(goldenPath(name));
});

it("compares nothing when a cluster is missing, unknown or named twice", async () => {
  expect(await macpool(kubeconfig, ["ranges", "--contexts", "a,moon"])).toMatchObject({
    exitCode: 2,
    stdout: "",
    stderr: expect.stringMatching(/^error: context moon: .*context "moon" is not among its contexts.*\n$/),
  });
  expect(await macpool(kubeconfig, ["collisions", "--contexts", "a,same"])).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: "error: contexts a and same are the same cluster: name each cluster once\n",
  });
});
