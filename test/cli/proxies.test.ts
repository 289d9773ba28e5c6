import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TunnelProxy } from "../kube/support/tunnel-proxy.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { macpool } from "./support/macpool.ts";
import { kubeconfigOf } from "./support/scripted-cluster.ts";

/** A name that only the proxies know. */
const NAME = "api.cluster.invalid";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

describe("a proxy between kubectl macpool and the API server", () => {
  it.each(["http", "socks"] as const)("is the one that proxy-url of the kubeconfig names: %s", async (kind) => {
    const { host, port } = new URL(harness.cluster.url);
    await using proxy = await TunnelProxy[kind](host);
    const { cluster, ...parts } = harness.cluster.parts("one");
    const far = { ...cluster.cluster, server: `http://${NAME}:${port}`, "proxy-url": proxy.url };
    await writeFile(harness.kubeconfig, kubeconfigOf({ ...parts, cluster: { ...cluster, cluster: far } }));
    const { exitCode, stdout, stderr } = await harness.say(
      { rest: () => ({ body: { items: [], total: 0 } }) },
      "list",
      "-A",
    );
    expect({ exitCode, stdout, stderr }).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("No MAC addresses"),
    });
    expect(new Set(proxy.asked)).toEqual(new Set([`${NAME}:${port}`]));
  });

  it("is that of the environment where the kubeconfig names none and NO_PROXY does not name the server", async () => {
    const { host, port } = new URL(harness.cluster.url);
    await using proxy = await TunnelProxy.http(host);
    const { cluster, ...parts } = harness.cluster.parts("one");
    const far = { ...cluster.cluster, server: `http://${NAME}:${port}` };
    await writeFile(harness.kubeconfig, kubeconfigOf({ ...parts, cluster: { ...cluster, cluster: far } }));
    harness.cluster.script = { rest: () => ({ body: { items: [], total: 0 } }) };
    const list = (env: Record<string, string>) => macpool(harness.kubeconfig, ["list", "-A"], { env });
    expect(await list({ HTTP_PROXY: proxy.url, NO_PROXY: ".elsewhere.invalid" })).toMatchObject({ exitCode: 0 });
    const asked = proxy.asked.length;
    expect(asked).toBeGreaterThan(0);
    const direct = await list({ HTTP_PROXY: proxy.url, NO_PROXY: ".cluster.invalid" });
    expect(direct).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`http://${NAME}:${port} can't be reached`),
    });
    expect(proxy.asked).toHaveLength(asked);
  });
});
