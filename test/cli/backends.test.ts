import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAC_POOL_TOKEN_HEADER } from "../../src/api/names.ts";
import { claims, FIRST, pools } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { type Ended, macpool } from "./support/macpool.ts";
import { kubeconfigOf, problem, type Script, ScriptedCluster, status } from "./support/scripted-cluster.ts";

/** Which backend answers, and what is said when REST is unavailable. */

const NOTE = "note: the MAC pool's service can't be asked: ";
const SOURCE = ". This answer is from MACPool and MACClaim objects, without denials and rates.\n";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const list = (items: readonly object[]) => ({ body: { items, total: items.length } });

const say = (script: Script, ...argv: string[]): Promise<Ended> => harness.say(script, ...argv);

describe("the pool's service", () => {
  it("gets the token in a header that the API server passes on, at the place that the webhooks name", async () => {
    const { exitCode, stderr } = await say({ rest: () => list(claims) }, "list", "-A");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [, asked] = harness.cluster.asked;
    expect(asked?.path).toBe(
      "/api/v1/namespaces/addons/services/https:kubemacpool-service:inspection/proxy/api/v1/claims?limit=2000",
    );
    expect(asked?.headers).toMatchObject({
      [MAC_POOL_TOKEN_HEADER]: "Bearer a-token",
      authorization: "Bearer a-token",
    });
  });

  it.each([
    ["MACPOOL_CONFLICT", true, "MAC -n default says whether another address"],
    ["MACPOOL_RUNNING", true, "MAC -n default says whether another address"],
    ["MACPOOL_DUPLICATE", false, "MAC -n default says whether another address"],
    ["MACPOOL_INVALID_MAC", false, "MAC -n default says whether another address"],
    ["MACPOOL_EXPLICIT_ADDRESS", false, "MAC -n default says whether another address"],
  ])(
    "tells of %s: advice to look for a holder: %s, and that check %s would be accepted",
    async (code, advised, check) => {
      const message = `failed: write an address such as ${FIRST}`;
      const refused = { at: "2026-11-21T09:14:03Z", what: "refused", code, mac: FIRST, message };
      const who = { kind: "VirtualMachine", namespace: "default", name: "web", exists: false };
      const body = { ...who, interfaces: [], history: [refused], partial: [] };
      const { stdout } = await say({ rest: () => ({ body }) }, "explain", "web");
      expect(stdout).toContain(`  - kubectl macpool check ${check} would be accepted\n`);
      expect(stdout.includes(`  - kubectl macpool find ${FIRST} -n default shows the holder\n`)).toBe(advised);
    },
  );

  it("tells of a full pool to look at the pools, since there is no address to check", async () => {
    const refused = { at: "2026-11-21T09:14:03Z", what: "refused", code: "MACPOOL_FULL", message: "full" };
    const who = { kind: "VirtualMachine", namespace: "default", name: "web", exists: false };
    const body = { ...who, interfaces: [], history: [refused], partial: [] };
    const { stdout } = await say({ rest: () => ({ body }) }, "explain", "web");
    expect(stdout).toContain("  - ask an administrator to add a range to the pool; kubectl macpool status shows");
    expect(stdout).not.toContain("check MAC");
    const limited = { ...body, history: [{ ...refused, code: "MACPOOL_NAMESPACE_LIMIT" }] };
    expect((await say({ rest: () => ({ body: limited }) }, "explain", "web")).stdout).not.toContain("What you can do");
  });

  it("says where nothing was found, and what to ask then", async () => {
    const rest: Script["rest"] = () => ({ body: { items: [], total: 0 } });
    expect((await say({ rest }, "find", "ghost", "-n", "lab")).stderr).toBe(
      'no MAC address found for "ghost" in namespace lab: kubectl macpool list -n lab shows what there is\n',
    );
    expect((await say({ rest }, "find", "ghost")).stderr).toBe(
      'no MAC address found for "ghost": try kubectl macpool list -A, or -n NAMESPACE if you may read one namespace only\n',
    );
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

  it("lists the addresses of one pool", async () => {
    const rest = () => list([...claims, { ...claims[0], mac: "02:00:00:00:00:01", pool: "other" }]);
    const { stdout } = await say({ rest }, "list", "--pool", "other", "-o", "json");
    expect(JSON.parse(stdout).items.map(({ mac }: { mac: string }) => mac)).toEqual(["02:00:00:00:00:01"]);
    const third: Script["rest"] = (path) =>
      path === "pools" ? { body: { items: [{ name: "third" }], total: 1 } } : rest();
    expect(await say({ rest: third }, "list", "-A", "--pool", "third")).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "No addresses of MACPool third are in use in the cluster.\n",
    });
  });

  it("gets the token of --token in place of every other credential", async () => {
    await writeFile(harness.kubeconfig, kubeconfigOf(harness.cluster.parts("one", {})));
    const { exitCode, stderr } = await say({ rest: () => list([]) }, "list", "--token", "a-token");
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: "No MAC addresses are in use in namespace default.\n",
    });
    const asked = harness.cluster.asked.find(({ path }) => path.includes("/proxy/"));
    expect(asked?.headers).toMatchObject({ [MAC_POOL_TOKEN_HEADER]: "Bearer a-token" });
  });

  it.each([
    [
      "there is no token",
      {},
      ["list", "--token", ""],
      /there is no token and no client certificate to show it: give --token/,
    ],
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
      "the API server has too many requests",
      { proxy: { ...status(429, "Too many requests, please try again later."), headers: { "retry-after": "0" } } },
      ["list"],
      /the API server refuses more requests for now \(Too many requests, please try again later\.\)/,
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
    expect(stdout).toMatch(/^MAC .*\n02:5d:1c:00:00:a3 +vm\/web +net1 +Allocated +default/);
    expect(stderr.startsWith(NOTE)).toBe(true);
    expect(stderr.slice(NOTE.length, -SOURCE.length)).toMatch(reason);
    expect(stderr.endsWith(SOURCE)).toBe(true);
    expect(stderr.split("\n")).toHaveLength(2);
  });

  it("is believed where it refuses itself", async () => {
    const detail = 'User "x" may not list macclaims: ask for a role that allows it.';
    expect(await say({ proxy: problem(403, "FORBIDDEN", detail) }, "list")).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: ${detail}\n`,
    });
    for (const hint of [" For what is in your namespace, name it:", " For what is in another namespace, name it:"]) {
      const { stderr } = await say({ proxy: problem(403, "FORBIDDEN", `${detail}${hint} ?namespace=NAME.`) }, "doctor");
      expect(stderr).toBe(`error: ${detail}${hint} -n NAMESPACE.\n`);
    }
    const ofPools = `${detail} For the claims and the limit of your namespace, read /api/v1/namespaces?namespace=NAME.`;
    const { stderr } = await say({ proxy: problem(403, "FORBIDDEN", ofPools) }, "status");
    expect(stderr).toContain(`error: ${detail} kubectl macpool namespaces -n NAMESPACE shows the claims and the limit`);
  });
});

describe("the namespace of -n", () => {
  const one = {
    findings: [],
    total: 0,
    adoption: { ended: true, message: "" },
    leader: null,
    replicas: [],
    caches: [],
  };
  const rest: Script["rest"] = (path) =>
    path === "consistency" ? { body: one } : path.startsWith("claims/") ? { body: claims[1] } : list([]);

  it.each([
    [["doctor"], "consistency"],
    [["namespaces"], "namespaces"],
    [["find", "web"], "claims"],
    [["find", FIRST], "claims/02-5d-1c-00-00-a3"],
  ])("goes with %j, and nothing without it or with -A", async (argv, path) => {
    const asked = async (...more: string[]): Promise<readonly (string | null)[]> => {
      harness.cluster.asked.length = 0;
      await say({ rest }, ...argv, ...more);
      const urls = harness.cluster.asked.map((each) => new URL(each.path, harness.cluster.url));
      return urls
        .filter(({ pathname }) => pathname.endsWith(`/v1/${path}`))
        .map((url) => url.searchParams.get("namespace"));
    };
    expect(await asked("-n", "lab")).toEqual(["lab"]);
    expect(await asked()).toEqual([null]);
    expect(await asked("-n", "lab", "-A")).toEqual([null]);
  });
});

describe("kubectl's options", () => {
  it("lead to another cluster, user or server of the kubeconfig", async () => {
    await using other = await ScriptedCluster.start({ rest: () => list(claims) });
    await writeFile(
      harness.kubeconfig,
      kubeconfigOf(harness.cluster.parts("one", { token: "wrong" }), other.parts("two")),
    );
    harness.cluster.script = { rest: () => list(claims) };
    for (const argv of [
      ["--cluster", "two", "--user", "two"],
      ["--server", other.url, "--user", "two", "--insecure-skip-tls-verify"],
      ["-s", other.url, "--token", "a-token"],
    ]) {
      other.asked.length = 0;
      expect(await macpool(harness.kubeconfig, ["list", "-A", "-o", "name", ...argv])).toMatchObject({
        exitCode: 0,
        stderr: "",
      });
      expect(other.asked).toHaveLength(2);
    }
    expect(harness.cluster.asked).toEqual([]);
    expect(await macpool(harness.kubeconfig, ["list", "--user", "eve"])).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: ${harness.kubeconfig}: user "eve" is not among its users: choose one (one, two).\n`,
    });
  });

  it("ask in the name of another user from the objects alone, since the service knows the token's owner", async () => {
    const { exitCode, stdout, stderr } = await say(
      { rest: () => list([]) },
      ...["list", "--as", "ann", "--as-group", "dev", "--as-group", "ops"],
    );
    expect(exitCode).toBe(0);
    expect(stdout).toContain(FIRST);
    expect(stderr).toBe(`${NOTE}it knows the owner of a token or certificate, not the user of --as${SOURCE}`);
    expect(harness.cluster.asked.map(({ path }) => path).filter((path) => path.includes("/proxy/"))).toEqual([]);
    for (const { headers } of harness.cluster.asked) {
      expect(headers).toMatchObject({ "impersonate-user": "ann", "impersonate-group": "dev, ops" });
    }
    await writeFile(harness.kubeconfig, kubeconfigOf(harness.cluster.parts("one", { token: "a-token", as: "ann" })));
    expect((await say({ rest: () => list([]) }, "list")).stderr).toContain("it knows the owner of a token");
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
