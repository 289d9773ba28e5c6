import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { type CommandResult, runCommand } from "../cluster/command.ts";
import { pools } from "./support/answers.ts";
import { kubeconfigOf, ScriptedCluster } from "./support/scripted-cluster.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the single executable", () => {
  let cluster: ScriptedCluster;
  let folder: string;
  let said: string;

  beforeAll(async () => {
    cluster = await ScriptedCluster.start();
    folder = await mkdtemp(join(tmpdir(), "macpool-single-"));
    await writeFile(join(folder, "kubeconfig"), kubeconfigOf(cluster.parts("one")));
    const built = await runCommand([process.execPath, join(ROOT, "src/cli/build.ts"), "--single"], {
      env: process.env,
    });
    expect(built).toMatchObject({ code: 0, stderr: "" });
    said = built.stdout;
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** There is no Node in its PATH. */
  const macpool = (...args: string[]): Promise<CommandResult> =>
    runCommand([join(ROOT, "dist/kubectl-macpool"), ...args], {
      env: {
        PATH: "/nowhere",
        HOME: folder,
        KUBECONFIG: join(folder, "kubeconfig"),
      },
    });

  it("says its size, and runs without Node", async () => {
    const onePool = { items: pools.slice(0, 1), total: 1 };
    expect(said).toMatch(/^dist\/kubectl-macpool: \d+ MB, with Node \d+\.\d+\.\d+\n$/);
    expect(await macpool("version")).toEqual({ code: 0, stdout: `${PRODUCT_VERSION}\n`, stderr: "" });
    cluster.script = { rest: (path) => ({ body: path === "pools" ? onePool : { findings: [], items: [], total: 0 } }) };
    expect(await macpool("status")).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^POOL .*\ndefault .*\n\nNo problems\.\n$/),
    });
  });

  it("says what a cluster that hangs, or is absent, means", async () => {
    cluster.script = { hangs: true };
    const hung = await macpool("status", "--request-timeout", "300ms");
    expect(hung).toMatchObject({ code: 2, stdout: "" });
    expect(hung.stderr).toMatch(/^error: the API server \S+ does not answer in time: [^\n]+\n$/);
    expect((await macpool("status", "--server", "http://127.0.0.1:1")).stderr).toMatch(
      /^error: the API server http:\/\/127\.0\.0\.1:1 can't be reached \(ECONNREFUSED\)[^\n]+\n$/,
    );
    expect((await macpool("status", "--kubeconfig", "/nowhere")).stderr).toMatch(
      /^error: Kubeconfig \/nowhere does not exist/,
    );
  });
});
