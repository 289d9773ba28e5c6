import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pluginPath } from "./cni-call.ts";
import { type Namespace, Testbed } from "./testbed.ts";

type Line = Record<string, unknown>;

let testbed: Testbed;
let node: Namespace;
let monitors: Monitor[];

beforeEach(async () => {
  testbed = await Testbed.create();
  node = testbed.node;
  monitors = [];
});

afterEach(async () => {
  for (const monitor of monitors) await monitor.stop();
  await testbed[Symbol.asyncDispose]();
});

class Monitor {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly lines: Line[] = [];
  readonly exited: Promise<unknown[]>;
  #changed = () => {};

  constructor([command = "", ...args]: string[]) {
    this.process = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.exited = once(this.process, "exit");
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (text: string) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      this.lines.push(...parts.map((line): Line => JSON.parse(line)));
      this.#changed();
    });
  }

  /** The lines up to the first that matches, taken away. The test's own deadline ends a wait in vain. */
  async until(match: (line: Line) => boolean): Promise<Line[]> {
    for (;;) {
      const at = this.lines.findIndex(match);
      if (at >= 0) return this.lines.splice(0, at + 1);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill("SIGKILL");
    await this.exited;
  }
}

async function monitor(args: string[] = [], wrap: string[] = []): Promise<Monitor> {
  const started = new Monitor(node.enter([...wrap, await pluginPath("link-monitor"), ...args]));
  monitors.push(started);
  return started;
}

const synced = ({ event }: Line) => event === "synced";
const named = (event: string, name: string) => (line: Line) => line.event === event && line.name === name;

describe("the link monitor on the real kernel", () => {
  it("prints the links there are, then changes as they happen", async () => {
    await node.ip("link", "add", "br1", "address", "02:00:00:00:00:01", "mtu", "1400", "type", "bridge");
    const { until } = bind(await monitor());
    const first = await until(synced);
    const br1 = {
      event: "link",
      index: 2,
      name: "br1",
      kind: "bridge",
      up: false,
      master: 0,
      mac: "02:00:00:00:00:01",
      mtu: 1400,
    };
    expect(first).toEqual([expect.objectContaining({ name: "lo", kind: "" }), br1, { event: "synced" }]);
    await node.ip("link", "set", "br1", "up");
    expect((await until(named("link", "br1"))).at(-1)).toEqual({ ...br1, up: true });
    await node.ip("link", "set", "br1", "name", "br2");
    expect((await until(named("link", "br2"))).at(-1)).toMatchObject({ index: 2, kind: "bridge" });
    await node.ip("link", "delete", "br2");
    expect((await until(named("gone", "br2"))).at(-1)).toEqual({ event: "gone", index: 2, name: "br2" });
  });

  it("tells a port that leaves its bridge from a link that is gone", async () => {
    const { until } = bind(await monitor());
    await until(synced);
    await node.ip("link", "add", "br1", "type", "bridge");
    await node.ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth1");
    await node.ip("link", "set", "veth0", "master", "br1");
    await node.ip("link", "set", "veth0", "nomaster");
    await node.ip("link", "delete", "br1");
    // Links that changed in the same tenth of a second are printed by index, so this one comes last.
    await node.ip("link", "add", "br2", "type", "bridge");
    const lines = await until(named("link", "br2"));
    expect(lines.filter(({ event }) => event === "gone")).toHaveLength(1);
    expect(lines.filter(named("link", "veth0")).at(-1)).toMatchObject({ master: 0 });
  });

  it("prints how bridges are set when asked, at first and when that changes", async () => {
    await node.ip("link", "add", "br1", "up", "type", "bridge", "stp_state", "1");
    const filters = node.ip("link", "add", "br2", "type", "bridge", "vlan_filtering", "1");
    const canFilter = await filters.then(
      () => true,
      () => false,
    );
    const { until } = bind(await monitor(["--bridges"]));
    const first = await until(synced);
    const br1 = first.find(named("link", "br1"));
    expect(br1).toMatchObject({ spanningTree: true });
    expect(br1).not.toHaveProperty("hasAddress");
    expect(br1?.canFilterVlans).toBe(canFilter ? undefined : false);
    await node.ip("address", "add", "192.0.2.1/24", "dev", "br1");
    const lines = await until((line) => named("link", "br1")(line) && line.hasAddress === true);
    expect([...first, ...lines].map(({ event }) => event)).not.toContain("address");
    await node.ip("address", "delete", "192.0.2.1/24", "dev", "br1");
    await until((line) => named("link", "br1")(line) && line.hasAddress === undefined);
    await node.ip("address", "add", "fe80::1/64", "dev", "br1");
    await node.ip("link", "set", "br1", "type", "bridge", "stp_state", "0");
    const last = await until((line) => named("link", "br1")(line) && line.spanningTree === undefined);
    expect(last.at(-1)).not.toHaveProperty("hasAddress");
  });

  it("prints addresses when asked, those there are and then changes", async () => {
    await node.ip("link", "add", "br1", "type", "bridge");
    await node.ip("address", "add", "192.0.2.1/24", "dev", "br1");
    const { until } = bind(await monitor(["--addresses"]));
    const address = (event: string, text: string) => ({ event, index: 2, address: text });
    expect(await until(synced)).toContainEqual(address("address", "192.0.2.1/24"));
    await node.ip("address", "add", "2001:db8::1/64", "dev", "br1");
    const isGone = ({ event }: Line) => event === "address-gone";
    await node.ip("address", "delete", "192.0.2.1/24", "dev", "br1");
    const lines = await until(isGone);
    expect(lines).toContainEqual(address("address", "2001:db8::1/64"));
    expect(lines.at(-1)).toEqual(address("address-gone", "192.0.2.1/24"));
  });

  it("says when asked that a network namespace went that a link led to", async () => {
    const { until } = bind(await monitor(["--namespaces"]));
    const container = await testbed.container();
    await node.ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth1", "netns", String(container.pid));
    await until(named("link", "veth0"));
    await container[Symbol.asyncDispose]();
    await until(({ event }) => event === "namespace-gone");
  });

  it("prints the whole list again after the asked time", async () => {
    const { until } = bind(await monitor(["--resync-seconds", "1"]));
    await until(synced);
    expect((await until(synced)).map(({ event }) => event)).toEqual(["resync", "link", "synced"]);
  });

  it("says that events were lost, then prints the whole list again", async () => {
    const { until, process } = bind(await monitor());
    await until(synced);
    process.kill("SIGSTOP");
    await node.ip("link", "add", "br1", "type", "bridge");
    const toggles = Array.from({ length: 3000 }, (_, i) => `link set br1 ${i % 2 === 0 ? "up" : "down"}`);
    const batch = await node.run(["sh", "-c", "exec ip -batch -"], {
      env: { PATH: ipPath() },
      input: toggles.join("\n"),
    });
    expect(batch).toMatchObject({ code: 0 });
    process.kill("SIGCONT");
    await until(({ event }) => event === "lost");
    expect((await until(synced)).find(named("link", "br1"))).toMatchObject({ kind: "bridge" });
  });

  it("does not bring back, after a loss, a link whose end was among what was lost", async () => {
    await node.ip("link", "add", "br1", "type", "bridge");
    const { until, process } = bind(await monitor());
    await until(synced);
    process.kill("SIGSTOP");
    await node.ip("link", "add", "early", "type", "bridge");
    const changes = Array.from({ length: 5000 }, (_, i) => `link set br1 txqueuelen ${i + 1}`);
    const batch = await node.run(["sh", "-c", "exec ip -batch -"], {
      env: { PATH: ipPath() },
      input: changes.join("\n"),
    });
    expect(batch).toMatchObject({ code: 0 });
    await node.ip("link", "delete", "early");
    process.kill("SIGCONT");
    await until(({ event }) => event === "lost");
    await until(synced);
    await node.ip("link", "add", "late", "type", "bridge");
    expect(await until(named("link", "late"))).toEqual([expect.objectContaining({ name: "late" })]);
  });

  it("needs no privilege", async () => {
    const drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"];
    const user = process.getuid?.() === 0 ? ["--reuid=65534", "--regid=65534", "--clear-groups"] : [];
    const { until } = bind(await monitor([], [...drop, ...user]));
    await until(synced);
    await node.ip("link", "add", "br1", "type", "bridge");
    await until(named("link", "br1"));
  });

  it("ends when its stdin ends", async () => {
    const started = await monitor();
    await started.until(synced);
    started.process.stdin.end();
    expect(await started.exited).toEqual([0, null]);
  });

  it("ends when nobody reads its stdout any more", async () => {
    const started = await monitor();
    await started.until(synced);
    started.process.stdout.destroy();
    expect(await started.exited).toEqual([0, null]);
  });

  it("refuses arguments it does not know, with its usage", async () => {
    const { code, stderr } = await node.run([await pluginPath("link-monitor"), "--verbose"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("usage: link-monitor")]);
  });
});

function bind(started: Monitor) {
  return { until: (match: (line: Line) => boolean) => started.until(match), process: started.process };
}

function ipPath(): string {
  return process.env.PATH ?? "";
}
