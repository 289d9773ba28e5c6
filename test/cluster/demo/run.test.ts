import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { runCommand } from "../command.ts";
import type { Report } from "./scenario.ts";
import { STEPS } from "./steps.ts";

const program = join(import.meta.dirname, "run.ts");
const DEMO_LIMIT_MS = 300_000;
const names = STEPS.map(({ name }) => name);

interface Demo {
  readonly process: ChildProcess;
  stdout: string;
  stderr: string;
  /** Resolves to the exit code once all output is there. */
  readonly ended: Promise<number | null>;
}

function start(env: NodeJS.ProcessEnv = {}, options = ["--check"]): Demo {
  const child = spawn(process.execPath, [program, ...options], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const demo: Demo = {
    process: child,
    stdout: "",
    stderr: "",
    ended: once(child, "close").then(([code]) => code as number | null),
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    demo.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    demo.stderr += text;
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return demo;
}

const reportOf = (demo: Demo): Report => JSON.parse(demo.stdout.trimEnd().split("\n").at(-1) ?? "") as Report;

/** Waits until the demo has told the outcome of this part of its opening. */
const told = (demo: Demo, part: "cluster" | "install"): Promise<unknown> =>
  eventually(`the demo's ${part} to be ready`, async () => demo.stdout.includes(`\n${part} `), {
    limitMs: DEMO_LIMIT_MS,
    signal: AbortSignal.timeout(DEMO_LIMIT_MS),
  });

/** Command lines of processes that work in a run directory of this process. */
function processesOf(pid: number | undefined): string[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => {
      try {
        return readFileSync(`/proc/${entry}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(`/${pid}-`) && line.includes("cluster-network-addons-test"));
}

describe("npm run demo -- --check", () => {
  it("holds every step and ends in a report of what it read", { timeout: DEMO_LIMIT_MS }, async () => {
    const demo = start();
    const code = await demo.ended;
    const report = reportOf(demo);
    expect(
      report.steps.filter(({ ok }) => !ok),
      demo.stderr,
    ).toEqual([]);
    expect(report.steps.map(({ name }) => name)).toEqual(names);
    expect(report.ok).toBe(true);
    expect(code).toBe(0);
    const vm = report.steps.find(({ name }) => name === "vm")?.values;
    expect(vm).toMatchObject({ node: "node-a", bridge: "br1", phase: "Allocated", linkMac: vm?.mac });
    for (const line of demo.stdout.trimEnd().split("\n").slice(0, -1)) expect(line.length).toBeLessThanOrEqual(80);
    expect(demo.stdout).not.toContain("\u001b");
  });

  it("says in one sentence what is missing, starts nothing, and reports that no step held", async () => {
    const demo = start({ TEST_ASSET_ETCD: "/nowhere/etcd" });
    expect(await demo.ended).toBe(1);
    expect(demo.stderr.trim().split("\n")).toEqual([
      "TEST_ASSET_ETCD=/nowhere/etcd: there is no such file; unset it to build etcd.",
    ]);
    const report = reportOf(demo);
    expect(report.ok).toBe(false);
    expect(report.steps.map(({ name, ok }) => ({ name, ok }))).toEqual(names.map((name) => ({ name, ok: false })));
    expect(report.steps[0]?.values.error).toBe(demo.stderr.trim());
  });

  it("stops on SIGTERM with a report and leaves no process behind", { timeout: DEMO_LIMIT_MS }, async () => {
    const demo = start();
    await told(demo, "install");
    demo.process.kill("SIGTERM");
    expect(await demo.ended).toBe(130);
    expect(reportOf(demo).ok).toBe(false);
    expect(processesOf(demo.process.pid)).toEqual([]);
  });

  it("leaves no process behind when it is killed while it installs", { timeout: DEMO_LIMIT_MS }, async () => {
    const demo = start();
    await told(demo, "cluster");
    expect(processesOf(demo.process.pid)).not.toEqual([]);
    demo.process.kill("SIGKILL");
    await demo.ended;
    await eventually("the cluster's processes to end", async () => processesOf(demo.process.pid).length === 0, {
      limitMs: 10_000,
      signal: AbortSignal.timeout(20_000),
      state: () => processesOf(demo.process.pid).join("\n"),
    });
  });
});

describe("npm run demo", () => {
  it("stays up after its scenario, and what it offers to try does what it says", {
    timeout: DEMO_LIMIT_MS,
  }, async () => {
    const demo = start({}, []);
    await eventually("the demo to say what to try", async () => demo.stdout.includes("\nCtrl-C stops it"), {
      limitMs: DEMO_LIMIT_MS,
      signal: AbortSignal.timeout(DEMO_LIMIT_MS),
      state: () => demo.stdout + demo.stderr,
    });
    const lines =
      demo.stdout
        .split("In another shell:\n")[1]
        ?.split("\n")
        .filter((line) => line.startsWith("  ")) ?? [];
    const exports = lines.filter((line) => line.startsWith("  export "));
    const [page = ""] = lines.filter((line) => line.startsWith("  http://"));
    const commands = lines.filter((line) => line.startsWith("  kubectl "));
    const tried = [];
    for (const command of commands) {
      tried.push(await runCommand(["sh", "-c", [...exports, command].join("\n")]));
    }
    expect(await (await fetch(page.trim())).text()).toMatch(/<!doctype html>/i);
    demo.process.kill("SIGINT");
    expect(
      tried.slice(0, -1).map(({ code }) => code),
      JSON.stringify(tried),
    ).toEqual([0, 0, 0]);
    expect(tried.map(({ stdout }) => stdout).join("\n")).toMatch(/vm\/web .*Bound.*default\/br1-net.*frames/s);
    expect(tried.at(-1)?.stderr).toContain("is in use by VirtualMachine default/web");
    expect(await demo.ended).toBe(0);
    expect(processesOf(demo.process.pid)).toEqual([]);
  });
});
