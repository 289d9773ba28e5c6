import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../command.ts";
import { KUBERNETES_VERSION } from "./binaries.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

describe("the control plane", () => {
  let controlPlane: ControlPlane;
  const kubectl = (args: readonly string[], stdin = "", kubeconfig = controlPlane.kubeconfig) =>
    runCommand([controlPlane.kubectlPath, "--kubeconfig", kubeconfig, ...args], { stdin });

  beforeAll(async () => {
    const startedAt = performance.now();
    controlPlane = await startControlPlane({ controllerManager: true, scheduler: true });
    console.log(`control plane ready after ${Math.round(performance.now() - startedAt)} ms`);
  });
  afterAll(() => controlPlane?.[Symbol.asyncDispose]());

  it("is the Kubernetes version that go.mod names", async () => {
    const { stdout } = await kubectl(["version", "-o", "json"]);
    const { serverVersion, clientVersion } = JSON.parse(stdout);
    expect([serverVersion.gitVersion, serverVersion.major, serverVersion.minor]).toEqual([
      `v${KUBERNETES_VERSION}`,
      "1",
      "36",
    ]);
    expect(clientVersion.gitVersion).toBe(`v${KUBERNETES_VERSION}`);
  });

  it("gives other users only what RBAC grants", async () => {
    const file = join(controlPlane.directory, "jane.kubeconfig");
    await writeFile(file, await controlPlane.userKubeconfig("jane", ["developers"]));
    const whoami = await kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], "", file);
    expect(whoami.stdout).toBe("jane");
    const refused = await kubectl(["get", "secrets", "-A"], "", file);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('User "jane" cannot list resource "secrets"');
  });

  it("runs the controllers that make a namespace's service account", async () => {
    expect((await kubectl(["create", "namespace", "controllers"])).code).toBe(0);
    const made = await kubectl(
      ["wait", "--for=create", "--timeout=20s", "-n", "controllers", "serviceaccount/default"],
      "",
    );
    expect(made.stderr).toBe("");
  });

  it("keeps its objects while the API server is killed and started again", async () => {
    expect((await kubectl(["create", "configmap", "kept", "--from-literal=a=b"])).code).toBe(0);
    await controlPlane.killApiServer();
    expect((await kubectl(["get", "configmap", "kept"])).code).toBe(1);
    await controlPlane.restartApiServer();
    expect((await kubectl(["get", "configmap", "kept", "-o", "jsonpath={.data.a}"])).stdout).toBe("b");
  });

  it("fails with the tail of the log when a program refuses to start", async () => {
    const start = startControlPlane({ apiServerArguments: ["--no-such-flag"] });
    await expect(start).rejects.toThrow(/kube-apiserver ended by itself.*unknown flag: --no-such-flag/s);
  });

  it("runs beside others, reports a program that ends later, and leaves no directory behind", async () => {
    const crash = Promise.withResolvers<Error>();
    await using other = await startControlPlane({ onCrash: crash.resolve });
    expect(other.url).not.toBe(controlPlane.url);
    expect(await readFile(other.kubeconfig, "utf8")).toBe(other.kubeconfigText);
    const { stdout } = await runCommand(["pgrep", "-f", `etcd --data-dir=${other.directory}`]);
    process.kill(Number(stdout.trim()), "SIGKILL");
    expect((await crash.promise).message).toContain("etcd ended by itself (SIGKILL)");
    await other[Symbol.asyncDispose]();
    expect(existsSync(other.directory)).toBe(false);
  });
});
