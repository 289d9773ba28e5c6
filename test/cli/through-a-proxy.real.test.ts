import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { Transport } from "../../src/kube/client/transport.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { type CommandResult, runCommand } from "../cluster/command.ts";
import { TunnelProxy } from "../kube/support/tunnel-proxy.ts";
import { machine } from "../mac-pool/machines.ts";
import { POOL_NAMESPACE, type PoolFixture } from "../mac-pool/pool-fixture.ts";
import { viewerToken } from "../mac-pool/viewer-token.ts";
import { eventually } from "../support/eventually.ts";
import { CliProcess } from "./support/cli-process.ts";
import { startServedPool } from "./support/pool-service.ts";

/** A name that only the proxies know. */
const NAME = "api.cluster.invalid";

describe("kubectl macpool, a proxy and an exec plugin in front of a real API server", () => {
  let harness: PoolFixture;
  let cli: CliProcess;
  let token: string;
  let target: string;
  let place: string;

  beforeAll(async () => {
    cli = await CliProcess.build();
    harness = await startServedPool();
    token = await viewerToken(harness, "viewer", "cluster");
    const { host, port } = new URL(harness.controlPlane.url);
    [target, place] = [host, `${NAME}:${port}`];
    await harness.admin.create(KINDS.virtualMachines, machine("web", "default", [{ name: "net1" }]));
    cli.kubeconfig = await kubeconfig("near", { server: harness.controlPlane.url }, { token });
    await eventually("the replica knows the VM", async () => (await macpool("list")).stdout.includes("web"));
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  /** As a user writes it. */
  function kubeconfig(name: string, cluster: object, user: object): Promise<string> {
    const ca = Buffer.from(harness.controlPlane.authority.certificate).toString("base64");
    const clusters = [
      { name, cluster: { "certificate-authority-data": ca, "tls-server-name": "kubernetes", ...cluster } },
    ];
    const contexts = [{ name, context: { cluster: name, user: name } }];
    const users = [{ name, user }];
    return cli.write(name, JSON.stringify({ clusters, contexts, users, "current-context": name }));
  }

  /** The API server under the name that nothing but a proxy leads to. */
  const far = (name: string, cluster: object = {}, user: object = { token }): Promise<string> =>
    kubeconfig(name, { server: `https://${place}`, ...cluster }, user);

  const macpool = (...args: string[]): Promise<CommandResult> => cli.run(...args, "--pool-namespace", POOL_NAMESPACE);

  const withEnv = (env: Record<string, string>, ...args: string[]): Promise<CommandResult> =>
    runCommand([join(cli.folder, "kubectl-macpool"), ...args, "--pool-namespace", POOL_NAMESPACE], {
      env: { ...cli.env, ...env },
    });

  /** The page of `macpool ui`, until the returned function is called. */
  async function openUi(config: string): Promise<{ readonly url: URL; end(): Promise<void> }> {
    const serving = cli.start("ui", "--no-browser", "--kubeconfig", config, "--pool-namespace", POOL_NAMESPACE);
    let said = "";
    serving.stdout?.on("data", (chunk) => {
      said += chunk;
    });
    await eventually("it has said where", () => /http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}\/\n/.test(said));
    const end = async (): Promise<void> => {
      serving.kill("SIGTERM");
      expect(await once(serving, "exit")).toEqual([0, null]);
    };
    return { url: new URL(/http:\S+/.exec(said)?.[0] ?? ""), end };
  }

  it.each(["http", "socks"] as const)(
    "asks through the proxy-url of its kubeconfig, watches and the page too: %s",
    async (kind) => {
      await using proxy = await TunnelProxy[kind](target);
      const config = await far(`by-${kind}`, { "proxy-url": proxy.url });
      const list = await macpool("list", "--kubeconfig", config);
      expect(list).toMatchObject({ code: 0, stderr: "" });
      expect(list.stdout).toContain("vm/web");
      const watching = cli.start("watch", "-A", "--kubeconfig", config, "--pool-namespace", POOL_NAMESPACE);
      const [told] = await once(watching.stdout as NodeJS.ReadableStream, "data");
      expect(String(told)).toContain("web");
      watching.kill("SIGINT");
      expect(await once(watching, "exit")).toEqual([0, null]);
      const before = proxy.asked.length;
      const ui = await openUi(config);
      expect(await (await fetch(new URL("api/v1/claims", ui.url))).text()).toContain('"web"');
      await ui.end();
      expect(proxy.asked.length).toBeGreaterThan(before);
      expect(new Set(proxy.asked)).toEqual(new Set([place]));
    },
  );

  it("says why a client certificate leads to no replica", async () => {
    const noteOf = async (kubeconfig: string): Promise<string> =>
      (await macpool("list", "-A", "--kubeconfig", kubeconfig)).stderr.split(". This answer is from")[0] ?? "";
    const note = "note: the MAC pool's service can't be asked:";
    expect(await noteOf(harness.controlPlane.kubeconfig)).toBe(
      `${note} no pod of it in namespace ${POOL_NAMESPACE} is Ready`,
    );
    const nobody = await cli.write("nobody", await harness.controlPlane.userKubeconfig("nobody"));
    expect(await noteOf(nobody)).toContain(
      `error: the MAC pool's service can't be asked: the kubeconfig has a client certificate and no token, and you may not list ` +
        `pods in namespace ${POOL_NAMESPACE}: give --token, for example --token ` +
        `$(kubectl --kubeconfig ${nobody} -n ${POOL_NAMESPACE} create token ACCOUNT). Nor may you read its objects: `,
    );
  });

  it("asks through HTTPS_PROXY, unless NO_PROXY names the server or the kubeconfig another proxy", async () => {
    await using proxy = await TunnelProxy.http(target);
    await using other = await TunnelProxy.http(target);
    const plain = await far("plain");
    const env = { HTTPS_PROXY: proxy.url, NO_PROXY: "10.0.0.0/8, .elsewhere.invalid" };
    expect(await withEnv(env, "list", "--kubeconfig", plain)).toMatchObject({ code: 0, stderr: "" });
    const asked = proxy.asked.length;
    expect(asked).toBeGreaterThan(0);
    const direct = await withEnv({ ...env, NO_PROXY: ".cluster.invalid" }, "list", "--kubeconfig", plain);
    expect(direct).toMatchObject({ code: 2, stdout: "" });
    expect(direct.stderr).toContain(`the API server https://${place} can't be reached`);
    const named = await far("named", { "proxy-url": other.url });
    expect(await withEnv(env, "list", "--kubeconfig", named)).toMatchObject({ code: 0, stderr: "" });
    expect(await withEnv(env, "list")).toMatchObject({ code: 0, stderr: "" });
    expect(proxy.asked).toHaveLength(asked);
    expect(other.asked.length).toBeGreaterThan(0);
  });

  it("shows a proxy the login in its URL, and names one that opens nothing, without the password", async () => {
    await using proxy = await TunnelProxy.http(target, "me:se cret");
    const login = (password: string): string => proxy.url.replace("//", `//me:${password}@`);
    const known = await far("known", { "proxy-url": login("se%20cret") });
    expect(await macpool("list", "--kubeconfig", known)).toMatchObject({ code: 0, stderr: "" });
    const unknown = await macpool("list", "--kubeconfig", await far("unknown", { "proxy-url": login("guess") }));
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain(`proxy ${proxy.url}: it answers 407 Proxy Authentication Required`);
    expect(unknown.stderr).not.toContain("guess");
  });

  /** An exec plugin that prints what is in a file, and writes a line each time that it is asked. */
  async function plugin(name: string, script: string): Promise<{ user: object; runs(): Promise<number> }> {
    const log = join(cli.folder, `${name}.log`);
    await writeFile(log, "");
    const text = `#!/bin/sh\necho x >> ${log}\n${script}
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$token"\n`;
    await writeFile(join(cli.folder, name), text, { mode: 0o755 });
    const user = { exec: { apiVersion: "client.authentication.k8s.io/v1", command: `./${name}` } };
    return { user, runs: async () => (await readFile(log, "utf8")).length / 2 };
  }

  it("asks an exec plugin once more for a token that was revoked, and shows the service the new one", async () => {
    const used = join(cli.folder, "used");
    const revokedFirst = `if [ -e ${used} ]; then token='${token}'; else touch ${used}; token=revoked; fi`;
    const { user, runs } = await plugin("revoked-first", revokedFirst);
    const config = await kubeconfig("revoked", { server: harness.controlPlane.url }, user);
    const list = await macpool("list", "--kubeconfig", config);
    expect(list).toMatchObject({ code: 0, stderr: "" });
    expect(list.stdout).toContain("vm/web");
    expect(await runs()).toBe(2);
  });

  it("goes on serving the page when its token is revoked meanwhile", { timeout: 120_000 }, async () => {
    const file = join(cli.folder, "now");
    await writeFile(file, await viewerToken(harness, "leaver", "cluster"));
    const { user, runs } = await plugin("from-file", `token=$(cat ${file})`);
    const config = await kubeconfig("leaver", { server: harness.controlPlane.url }, user);
    const ui = await openUi(config);
    const claims = new URL("api/v1/claims", ui.url);
    expect((await fetch(claims)).status).toBe(200);
    const transport = new Transport(await credentialsFromKubeconfig(config));
    await harness.admin.delete(RESOURCES.serviceAccounts, { name: "leaver", namespace: "default" });
    await eventually(
      "the API server knows the old token no longer",
      async () => (await transport.send({ method: "GET", path: "/api", headers: {}, idleTimeoutMs: 0 })).status === 401,
      { limitMs: 60_000 },
    );
    transport.close();
    await writeFile(file, token);
    const before = await runs();
    const watch = await fetch(new URL("?watch=true&sendInitialEvents=true", claims));
    expect({ status: watch.status, type: watch.headers.get("content-type") }).toEqual({
      status: 200,
      type: "text/event-stream",
    });
    await watch.body?.cancel();
    expect((await fetch(claims)).status).toBe(200);
    expect(await runs()).toBe(before + 1);
    await ui.end();
  });
});
