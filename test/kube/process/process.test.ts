import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { readEnv, readPort, requireEnv } from "../../../src/kube/process/read-env.ts";
import { compileCacheEnv } from "../../cluster/compile-cache.ts";
import { eventually } from "../../support/eventually.ts";

const FIXTURE = join(import.meta.dirname, "fixture", "main.ts");
const running = new Set<Fixture>();

class Fixture {
  readonly #child: ChildProcess;
  readonly exit: Promise<number | null>;
  #stdout = "";

  constructor(behaviour: string, env: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, [FIXTURE, behaviour], {
      env: { ...compileCacheEnv(), LOG_LEVEL: "debug", ...env },
    });
    this.#child.stdout?.on("data", (chunk) => {
      this.#stdout += chunk;
    });
    this.exit = new Promise((resolve) => this.#child.once("close", resolve));
    running.add(this);
    this.exit.then(() => running.delete(this));
  }

  get lines(): Record<string, unknown>[] {
    return this.#stdout
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line));
  }

  line(message: string): Promise<Record<string, unknown>> {
    return eventually(`logged "${message}"`, () => this.lines.find((line) => line.msg === message));
  }

  async get(path: string): Promise<{ status: number; body: string }> {
    const { port } = await this.line("health listener");
    await this.line("running");
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.text() };
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

afterEach(async () => {
  for (const fixture of running) {
    fixture.kill("SIGKILL");
    await fixture.exit;
  }
});

describe("a process", () => {
  test("that returns ends with 0", async () => {
    expect(await new Fixture("return").exit).toBe(0);
  });

  test.each([
    ["throw", "failed", "broken"],
    ["uncaught", "uncaught exception", "nobody catches this"],
    ["reject", "unhandled rejection", "nobody awaits this"],
  ])("that ends by %s logs it as fatal and ends with 1", async (behaviour, message, error) => {
    const fixture = new Fixture(behaviour);
    expect(await fixture.exit).toBe(1);
    expect(await fixture.line(message)).toMatchObject({ level: "fatal", err: { message: error } });
  });

  test("that has to start anew logs why, as one error, and ends with 1", async () => {
    const fixture = new Fixture("restart");
    expect(await fixture.exit).toBe(1);
    expect(fixture.lines.filter(({ level }) => level === "error" || level === "fatal")).toEqual([
      expect.objectContaining({ level: "error", msg: "etcd was restored" }),
    ]);
  });

  test("whose port is in use says so once, and ends with 1", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const fixture = new Fixture("serve", { HEALTH_PORT: String(port) });
    expect(await fixture.exit).toBe(1);
    other.close();
    const message = `Port ${port} is in use (EADDRINUSE): end what listens on it, or give this process another port`;
    expect(fixture.lines).toMatchObject([
      { level: "fatal", msg: "failed", err: { message: expect.stringMatching(/^Port/) } },
    ]);
    expect(JSON.stringify(fixture.lines)).toContain(message);
  });

  test("stops in order on SIGTERM and on SIGINT", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const fixture = new Fixture("serve");
      await fixture.line("running");
      fixture.kill(signal);
      expect(await fixture.exit).toBe(0);
      expect(await fixture.line("stopping")).toMatchObject({ signal, name: "fixture" });
    }
  });

  test("stops at once on the second signal", async () => {
    const fixture = new Fixture("stubborn");
    await fixture.line("running");
    fixture.kill("SIGTERM");
    await fixture.line("stopping");
    fixture.kill("SIGTERM");
    expect(await fixture.exit).toBe(130);
  });

  test("answers probes and metrics, and stops being ready when it is told to stop", async () => {
    const fixture = new Fixture("stubborn", { DOOR: "open" });
    expect(await fixture.get("/healthz")).toMatchObject({ status: 200 });
    expect(await fixture.get("/readyz")).toEqual({ status: 200, body: '{"ok":true,"checks":{"door":"ok"}}' });
    const { body } = await fixture.get("/metrics");
    expect(body).toMatch(/^# TYPE process_cpu_seconds_total counter$/m);
    expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
    fixture.kill("SIGTERM");
    await fixture.line("stopping");
    expect((await fixture.get("/readyz")).status).toBe(503);
    expect((await fixture.get("/healthz")).status).toBe(200);
  });

  test("that is not ready says what is missing", async () => {
    expect(await new Fixture("serve").get("/readyz")).toEqual({
      status: 503,
      body: '{"ok":false,"checks":{"door":"closed"}}',
    });
  });

  test("never logs secrets", async () => {
    const fixture = new Fixture("return");
    await fixture.exit;
    expect(await fixture.line("running")).toMatchObject({
      level: "info",
      token: "[redacted]",
      nested: { password: "[redacted]" },
    });
    expect(JSON.stringify(fixture.lines)).not.toContain("geheim");
  });
});

describe("the environment", () => {
  const schema = z.object({ NAME: z.string(), COUNT: z.coerce.number().int().default(3) });

  test("is read by a schema", () => {
    expect(readEnv(schema, { NAME: "x", OTHER: "y" })).toEqual({ NAME: "x", COUNT: 3 });
  });

  test("names every wrong variable in one sentence", () => {
    expect(() => readEnv(schema, { COUNT: "many" })).toThrow(
      /^Wrong environment: NAME is not set; COUNT="many": .*number.*\.$/,
    );
  });

  test("ports and required variables are checked", () => {
    expect(readPort({ P: "8081" }, "P")).toBe(8081);
    expect(readPort({}, "P")).toBeUndefined();
    expect(() => readPort({ P: "81x" }, "P")).toThrow('P="81x" is not a port');
    expect(() => readPort({ P: "70000" }, "P")).toThrow("is not a port");
    expect(requireEnv({ A: "b" }, "A")).toBe("b");
    expect(() => requireEnv({}, "A")).toThrow("Wrong environment: A is not set.");
  });
});
