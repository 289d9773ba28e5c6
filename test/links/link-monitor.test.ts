import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/kube/clock.ts";
import { type Log, silentLog } from "../../src/kube/log.ts";
import type { LinkEvent } from "../../src/links/link-event.ts";
import { runLinkMonitor } from "../../src/links/link-monitor.ts";

const WITHIN = { timeout: 30_000 };
const script = join(import.meta.dirname, "scripted-monitor.mjs");

let directory: string;
let file: string;
let stop: AbortController;
let running: Promise<void> | undefined;
let events: (LinkEvent | "start")[];
let logged: string[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "link-monitor-"));
  file = join(directory, "lines");
  await writeFile(file, "");
  stop = new AbortController();
  events = [];
  logged = [];
});

afterEach(async () => {
  stop.abort();
  await running;
  await rm(directory, { recursive: true });
});

function start(command = process.execPath, heartbeatSeconds = 10): void {
  const log: Log = { ...silentLog, error: (_fields: object | string, message?: string) => logged.push(message ?? "") };
  running = runLinkMonitor(
    {
      command,
      args: [script, file],
      onEvent: (event) => events.push(event),
      onStart: () => events.push("start"),
      heartbeatSeconds,
      clock: systemClock,
      log,
    },
    stop.signal,
  );
}

describe("the link monitor's keeper", () => {
  it("hands on what the executable prints, also when a line comes in pieces", async () => {
    start();
    await appendFile(file, '{"event":"synced"}\n{"event":"gone","ind');
    await appendFile(file, 'ex":7}\n');
    await vi.waitFor(() => expect(events).toEqual(["start", { event: "synced" }, { event: "gone", index: 7 }]), WITHIN);
  });

  it("starts it again when it ends, and says with what it ended", async () => {
    await writeFile(file, '{"event":"synced"}\n!exit 3\n');
    start();
    await vi.waitFor(() => expect(events.filter((event) => event === "start").length).toBeGreaterThan(1), WITHIN);
    expect(logged[0]).toBe("the link monitor ended (exit code 3: told to end); starting it again");
  });

  it("does not go on with one that prints something else", async () => {
    await writeFile(file, "Segmentation fault\n");
    start();
    await vi.waitFor(() => expect(logged[0]).toContain('it printed "Segmentation fault"'), WITHIN);
    expect(events.filter((event) => event !== "start")).toEqual([]);
  });

  it("replaces one that hangs, which a heartbeat would have told", async () => {
    await writeFile(file, '{"event":"synced"}\n!stop\n');
    start(process.execPath, 0.1);
    await vi.waitFor(() => expect(events.filter((event) => event === "start").length).toBeGreaterThan(1), WITHIN);
    expect(logged[0]).toMatch(/^the link monitor ended \(it printed nothing for 0\.3\d* s\); starting it again$/);
  });

  it("keeps one that is alive, although no link changes", async () => {
    await writeFile(file, '{"event":"synced"}\n!beat 50\n');
    start(process.execPath, 0.1);
    const beats = () => events.filter((event) => typeof event === "object" && event.event === "alive").length;
    await vi.waitFor(() => expect(beats()).toBeGreaterThan(12), WITHIN);
    expect(events.filter((event) => event === "start")).toHaveLength(1);
  });

  it("says which executable cannot be started, and keeps trying", async () => {
    start(join(directory, "absent"));
    await vi.waitFor(() => expect(logged.length).toBeGreaterThan(1), WITHIN);
    expect(logged[0]).toContain("absent ENOENT");
  });

  it("ends the executable when it is told to stop", async () => {
    await writeFile(file, '{"event":"synced"}\n');
    start();
    await vi.waitFor(() => expect(events).toHaveLength(2), WITHIN);
    stop.abort();
    await running;
    expect(logged).toEqual([]);
  });
});
