import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAC_POOL_TOKEN_HEADER } from "../../src/api/names.ts";
import { claims, FIRST, pools } from "./support/answers.ts";
import { type Ended, macpool } from "./support/macpool.ts";
import { kubeconfigOf, problem, type Script, ScriptedCluster, status } from "./support/scripted-cluster.ts";

/** Which door answers, and what is said when one is closed. */

const POOL = {
  apiVersion: "macpool.network.kubevirt.io/v1alpha1",
  kind: "MACPool",
  metadata: { name: "default" },
  spec: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" }] },
  status: {
    observedGeneration: 1,
    ranges: ["02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff"],
    capacity: 16777216,
    used: 1,
    free: 16777215,
  },
};
const CLAIM = {
  apiVersion: "macpool.network.kubevirt.io/v1alpha1",
  kind: "MACClaim",
  metadata: { name: "mac-02-5d-1c-00-00-a3", resourceVersion: "72" },
  spec: { mac: FIRST, pool: "default", origin: "automatic" },
  status: {
    phase: "Bound",
    owners: [
      { kind: "VirtualMachine", namespace: "default", name: "web", interface: "net1", since: "2026-11-21T09:14:03Z" },
    ],
  },
};
const NOTE =
  "note: the MAC pool's service can't be asked, so this is from MACPool and MACClaim objects, without denials and rates: ";

let cluster: ScriptedCluster;
let folder: string;
let kubeconfig: string;

beforeEach(async () => {
  cluster = await ScriptedCluster.start();
  folder = await mkdtemp(join(tmpdir(), "macpool-doors-"));
  kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one")));
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const list = (items: readonly object[]) => ({ body: { items, total: items.length } });

const say = (script: Script, ...argv: string[]): Promise<Ended> => {
  cluster.script = { pools: [POOL], claims: [CLAIM], ...script };
  return macpool(kubeconfig, argv);
};

describe("the pool's service", () => {
  it("gets the token in a header that the API server passes on, at the place that the webhooks name", async () => {
    const { exitCode, stderr } = await say({ rest: () => list(claims) }, "list", "-A");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [, asked] = cluster.asked;
    expect(asked?.path).toBe(
      "/api/v1/namespaces/addons/services/https:kubemacpool-service:inspection/proxy/api/v1/claims?limit=2000",
    );
    expect(asked?.headers).toMatchObject({
      [MAC_POOL_TOKEN_HEADER]: "Bearer a-token",
      authorization: "Bearer a-token",
    });
  });

  it("is asked page by page", async () => {
    const rest: Script["rest"] = (_, query) => {
      const [first, ...others] = claims;
      return query.get("continue") === "next"
        ? { body: { items: others, total: 3 } }
        : { body: { items: [first], total: 3, continue: "next" } };
    };
    const { stdout } = await say({ rest }, "list", "-A", "-o", "json");
    expect(JSON.parse(stdout)).toEqual({ items: claims, total: 3 });
  });

  it("gets the token of --token in place of every other credential", async () => {
    await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one", {})));
    const { exitCode, stderr } = await say({ rest: () => list([]) }, "list", "--token", "a-token");
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: "No MAC addresses are in use in namespace default.\n",
    });
    expect(cluster.asked.at(-1)?.headers).toMatchObject({ [MAC_POOL_TOKEN_HEADER]: "Bearer a-token" });
  });

  it.each([
    ["there is no token", {}, ["list", "--token", ""], /the kubeconfig has a client certificate and no token/],
    [
      "nothing says where it is",
      { webhooks: status(404, "not found", "NotFound") },
      ["list"],
      /there is no MutatingWebhookConfiguration kubemacpool-mutator.*--pool-namespace/,
    ],
    [
      "the user may not read where it is",
      { webhooks: status(403, "no", "Forbidden") },
      ["list"],
      /you may not read MutatingWebhookConfiguration.*--pool-namespace/,
    ],
    [
      "the webhooks lead elsewhere",
      { webhooks: { body: { metadata: {}, webhooks: [{ clientConfig: { url: "https://x" } }] } } },
      ["list"],
      /leads to no Service/,
    ],
    [
      "the user may not use the proxy",
      { proxy: status(403, "no proxy for you", "Forbidden") },
      ["list"],
      /you may not use the proxy of its Service \(no proxy for you\)/,
    ],
    [
      "there is no Service",
      { proxy: status(404, "services not found", "NotFound") },
      ["list"],
      /its Service does not exist there/,
    ],
    [
      "nobody is behind it",
      { proxy: status(503, "no endpoints available") },
      ["list"],
      /it does not answer \(no endpoints available\)/,
    ],
    [
      "it answers like something else",
      { proxy: { status: 500, body: "<html>", type: "text/html" } },
      ["list"],
      /it does not answer \(500\)/,
    ],
    [
      "it does not accept the token",
      { proxy: problem(401, "UNAUTHENTICATED", "send a token") },
      ["list"],
      /it does not accept the token \(send a token\)/,
    ],
  ] as const)("is away where %s, and the objects answer", async (_, script, argv, reason) => {
    const { exitCode, stdout, stderr } = await say(script as Script, ...argv);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^MAC .*\n02:5d:1c:00:00:a3 +VirtualMachine\/web +net1 +Bound +default/);
    expect(stderr.startsWith(NOTE)).toBe(true);
    expect(stderr.slice(NOTE.length)).toMatch(reason);
    expect(stderr.split("\n")).toHaveLength(2);
  });

  it("is believed where it refuses itself", async () => {
    const detail = 'User "x" may not list macclaims: ask for a role that allows it.';
    expect(await say({ proxy: problem(403, "FORBIDDEN", detail) }, "list")).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `error: ${detail}\n`,
    });
    const near = problem(404, "NOT_FOUND", 'there is no MACPool "defalt"', { didYouMean: "default" });
    expect((await say({ rest: () => near }, "map", "defalt")).stderr).toBe(
      'error: there is no MACPool "defalt"; did you mean default?\n',
    );
  });
});

describe("the objects", () => {
  const away: Script = { proxy: status(503, "no endpoints available") };

  it("answer what they can", async () => {
    expect((await say(away, "status")).stdout).toContain("full in       not known: The MAC pool itself measures");
    expect((await say(away, "find", "5d1c")).stdout).toContain(FIRST);
    expect((await say(away, "map")).stdout).toContain("16,777,215 free, 1 bound, 0 pending");
    expect((await say(away, "map", "--from", FIRST, "--to", "02:5d:1c:00:00:b2")).stdout).toMatch(
      /each mark is one address\n\n02:5d:1c:00:00:a3 {2}B·{15}\n/,
    );
    expect((await say(away, "doctor")).stdout).toContain("Nothing is inconsistent.");
    expect((await say({ ...away, pools: [] }, "doctor")).exitCode).toBe(1);
    expect((await say(away, "explain", "web")).stdout).toMatch(
      /^VirtualMachine default\/web .*\n\nINTERFACE.*\nnet1 +02:5d/,
    );
    expect((await say(away, "map", "nothere")).stderr).toMatch(
      /error: there is no MACPool "nothere": choose one of default\n$/,
    );
  });

  it.each([
    ["denials", "denials are"],
    ["namespaces", "the rules of each namespace are"],
    ["check 02:00:00:00:00:01", "what would be accepted is"],
  ])("do not know %s, and it is said in one sentence", async (words, what) => {
    expect(await say(away, ...words.split(" "))).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `error: ${what} known to the MAC pool's service only, and it does not answer (no endpoints available)\n`,
    });
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

  it("are told to be forbidden with what to ask for", async () => {
    const forbidden = status(403, "macpools is forbidden", "Forbidden");
    expect((await say({ ...away, pools: forbidden, claims: forbidden }, "list")).stderr).toMatch(
      /\nerror: macpools is forbidden: ask for ClusterRole kubemacpool-view or view\n$/,
    );
  });
});

describe("what tenants write", () => {
  it("can't command the terminal", async () => {
    const [claim] = claims;
    const evil = "net\u001b[2J\u001b]0;owned\u0007\u009b1m\u202e";
    const owners = [{ ...claim?.owners[0], name: evil, interface: evil, network: evil }];
    const rest: Script["rest"] = (path) => (path === "claims" ? list([{ ...claim, owners }]) : list(pools));
    for (const argv of [
      ["list", "-A", "-owide"],
      ["list", "-A", "-o", "json"],
      ["find", "02:00:00"],
    ]) {
      const { stdout } = await say({ rest }, ...argv);
      expect(stdout).toContain("net\ufffd[2J");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come through
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
  });
});

describe("an API server", () => {
  it("that hangs costs the given time and one sentence", async () => {
    const ended = await say({ hangs: true }, "status", "--request-timeout", "200ms");
    expect(ended).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `error: the API server ${cluster.url} does not answer in time: try again, or give it longer with --request-timeout\n`,
    });
  });

  it("that is not there, or knows nobody, is said in one sentence", async () => {
    const { url } = cluster;
    await cluster[Symbol.asyncDispose]();
    expect((await macpool(kubeconfig, ["status"])).stderr).toBe(
      `error: the API server ${url} can't be reached (ECONNREFUSED): is this the right kubeconfig?\n`,
    );
    cluster = await ScriptedCluster.start({ webhooks: status(401, "Unauthorized", "Unauthorized") });
    await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one")));
    expect((await macpool(kubeconfig, ["status"])).stderr).toBe(
      "error: the API server does not know these credentials: log in again\n",
    );
  });
});

describe("wrong usage", () => {
  it.each([
    [["frob"], 'unknown command "frob": see kubectl macpool --help'],
    [["list", "web"], "list takes no argument: use kubectl macpool find"],
    [["find"], "find takes one argument: a MAC address, a part of one, a VM, a pod or a namespace"],
    [["check", "02:zz"], '"02:zz" is not a MAC address: write six octets'],
    [["check", FIRST, "-A"], "check needs a namespace: write -n NAMESPACE in place of -A"],
    [["explain", "a/b/c/d"], '"a/b/c/d" names no object: write NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME'],
    [["explain", "node/a/b"], 'unknown kind "node": use vm, vmi or pod'],
    [["map", "--from", "x"], '--from "x" is not a MAC address: write six octets'],
    [["map", "--from", "02:00:00:00:00:02", "--to", "02:00:00:00:00:01"], "--to is below --from"],
    [["list", "--from", FIRST], "list has no option --from, which belongs to map"],
    [["ranges", "--size", "4"], "--size belongs to --suggest"],
    [["ranges", "--suggest", "--size", "0"], '--size "0" is not a number from 1 to 16777216'],
    [["ui", "--port", "70000"], '--port "70000" is not a number from 1 to 65535'],
    [["collisions", "--contexts", "one"], "collisions --contexts compares two contexts or more: write a,b"],
    [["ranges", "--contexts", "one,,two"], '--contexts "one,,two" has an empty name: write a,b'],
    [["ranges", "--contexts", "one,one"], "--contexts names one twice"],
    [["status", "--request-timeout", "soon"], '--request-timeout "soon" is not a time: write it as 5s, 2m or 1h'],
    [["completion", "tcsh"], 'no script for "tcsh": use one of bash, zsh, fish, kubectl'],
    [["doctor", "-o", "name"], "doctor has no names: use -o table, json or yaml"],
  ])("%j is refused in one sentence with exit code 2", async (argv, sentence) => {
    const consistent = { findings: [], total: 0 };
    cluster.script = { rest: () => ({ body: consistent }) };
    expect(await macpool(kubeconfig, argv)).toEqual({ exitCode: 2, stdout: "", stderr: `error: ${sentence}\n` });
  });
});
