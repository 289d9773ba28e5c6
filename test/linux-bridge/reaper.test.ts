import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/kube/clock.ts";
import { silentLog } from "../../src/kube/log.ts";
import { Reaper } from "../../src/linux-bridge/reaper.ts";

const GRACE_MS = 1000;
const RECORD = { plugin: "bridge", network: "net", containerId: "c1", ifname: "net1", netns: "/run/netns/pod" };
const CONFIG = '{"cniVersion":"1.0.0"}';
const LONG_GRACE_MS = 60_000;

let root: string;
let records: string;
let results: string;
let multusResults: string;
let netns: string;
let links: string;
let plugins: string;
let nowMs: number;
let outcomes: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "reaper-"));
  [records, netns, plugins] = [join(root, "records"), join(root, "netns"), join(root, "plugins")];
  [results, multusResults] = [join(root, "results"), join(root, "multus-results")];
  links = join(root, "links");
  for (const directory of [records, results, multusResults, netns, plugins, links]) await mkdir(directory);
  await writeFile(join(root, "dev"), "Inter-| Receive\n face |bytes\n    lo: 0 0\n");
  await mkdir(join(links, "lo"));
  await plugin('cat > "$CNI_PATH/stdin"; env > "$CNI_PATH/env"; rm -f "$CNI_PATH"/../records/c1~net1~bridge.json');
  nowMs = 0;
  outcomes = [];
});

afterEach(() => rm(root, { recursive: true }));

const plugin = (script: string): Promise<void> =>
  writeFile(join(plugins, "bridge"), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`, { mode: 0o755 });

const record = (more: object = {}, file = "c1~net1~bridge.json"): Promise<void> =>
  writeFile(join(records, file), JSON.stringify({ ...RECORD, config: CONFIG, ...more }));

/** The interface that the record's plugin made on the host. */
async function attach(): Promise<void> {
  await mkdir(join(links, "veth0"));
  await writeFile(join(links, "veth0", "ifalias"), "cni-bridge:net/c1/net1\n");
}

function reaper(): Reaper {
  return new Reaper({
    recordDirectory: records,
    netnsDirectory: netns,
    resultDirectories: [join(root, "missing"), results, multusResults],
    linksDirectory: links,
    linkStatistics: join(root, "dev"),
    pluginDirectory: plugins,
    plugins: ["bridge"],
    cniPath: plugins,
    onReaped: (outcome) => outcomes.push(outcome),
    clock: { ...systemClock, monotonicMs: () => nowMs },
    log: silentLog,
    graceMs: GRACE_MS,
    longGraceMs: LONG_GRACE_MS,
  });
}

/** Two passes with the grace between them. */
async function reap(one = reaper()): Promise<void> {
  await one.pass();
  nowMs += GRACE_MS;
  await one.pass();
}

describe("the reaper", () => {
  it("calls the plugin's own DEL with the ADD's configuration once the namespace has been gone for a while", async () => {
    await record();
    const one = reaper();
    expect(await one.pass()).toBe(1);
    expect(outcomes).toEqual([]);
    nowMs += GRACE_MS;
    expect(await one.pass()).toBe(0);
    expect(outcomes).toEqual(["success"]);
    expect(await readFile(join(plugins, "stdin"), "utf8")).toBe(CONFIG);
    const env = await readFile(join(plugins, "env"), "utf8");
    for (const line of ["CNI_COMMAND=DEL", "CNI_CONTAINERID=c1", "CNI_IFNAME=net1"]) expect(env).toContain(line);
    expect(env).not.toContain("CNI_NETNS");
  });

  it("leaves attachments alone whose namespace is there, or came back within the grace", async () => {
    await record();
    const one = reaper();
    await one.pass();
    await writeFile(join(netns, "pod"), "");
    nowMs += GRACE_MS;
    expect(await one.pass()).toBe(0);
    await rm(join(netns, "pod"));
    expect(await one.pass()).toBe(1);
    expect(outcomes).toEqual([]);
  });

  it.each([
    ["a process's own path", { netns: "/proc/4711/ns/net" }],
    ["a path below the directory", { netns: "/run/netns/deeper/pod" }],
    ["a directory that only looks like it", { netns: "/srv/run/netns/pod" }],
  ])("never judges %s", async (_, more) => {
    await record(more);
    await reap();
    expect(outcomes).toEqual([]);
  });

  it("never judges anything while the directory of namespaces can't be seen", async () => {
    await record();
    await rm(netns, { recursive: true });
    await reap();
    expect(outcomes).toEqual([]);
  });

  it("knows the directory by its older name too", async () => {
    await record({ netns: "/var/run/netns/pod" });
    await reap();
    expect(outcomes).toEqual(["success"]);
  });

  it("tries again later when the plugin fails", async () => {
    await record();
    await plugin('echo "{}"; exit 1');
    const one = reaper();
    await reap(one);
    await one.pass();
    nowMs += 10 * GRACE_MS;
    await one.pass();
    expect(outcomes).toEqual(["error"]);
    nowMs += 60_000;
    await one.pass();
    expect(outcomes).toEqual(["error", "error"]);
  });

  it("ignores files that are no records, and plugins that it does not know", async () => {
    await record({}, "c1~net1~bridge.json.tmp");
    await writeFile(join(records, "c2~net1~bridge.json"), "{");
    await writeFile(join(records, "c3~net1~bridge.json"), JSON.stringify({ ...RECORD, ifname: 1 }));
    await record({ plugin: "../../bin/sh" }, "c4~net1~bridge.json");
    await reap();
    expect(outcomes).toEqual([]);
  });

  it("removes what a killed plugin had begun to write, once it is no longer being written", async () => {
    const file = "c1~net1~bridge.json.tmp";
    await record({}, file);
    await reaper().pass();
    expect(await readdir(records)).toEqual([file]);
    const longAgo = new Date(Date.now() - 2 * GRACE_MS);
    await utimes(join(records, file), longAgo, longAgo);
    await reaper().pass();
    expect(await readdir(records)).toEqual([]);
  });

  it.each([
    ["the runtime", () => results],
    ["multus", () => multusResults],
  ])("takes what %s cached for what another plugin of the name attached, after a longer while", async (_, cache) => {
    const cachedIn = cache();
    const config = Buffer.from(JSON.stringify({ ...JSON.parse(CONFIG), type: "cnv-bridge", name: "net" }));
    const result = { interfaces: [{ name: "net1", sandbox: RECORD.netns }] };
    const cached = { kind: "cniCacheV1", containerId: "c1", ifName: "net1", networkName: "net", result };
    await writeFile(join(cachedIn, "net-c1-net1"), JSON.stringify({ ...cached, config: config.toString("base64") }));
    const one = reaper();
    await reap(one);
    expect(outcomes).toEqual([]);
    nowMs += LONG_GRACE_MS;
    await one.pass();
    expect(outcomes).toEqual(["success"]);
    expect(await readFile(join(plugins, "stdin"), "utf8")).toBe(config.toString());
    nowMs += LONG_GRACE_MS;
    await one.pass();
    expect([outcomes, await readdir(cachedIn)]).toEqual([["success"], ["net-c1-net1"]]);
  });

  it("leaves a cached result alone while there is a record of the same, or its namespace", async () => {
    const config = Buffer.from('{"type":"bridge"}').toString("base64");
    const cached = { kind: "cniCacheV1", containerId: "c1", ifName: "net1", networkName: "net", config };
    await writeFile(join(results, "net-c1-net1"), JSON.stringify({ ...cached, netns: RECORD.netns }));
    await record({ netns: "/proc/1/ns/net" });
    await attach();
    const one = reaper();
    for (const ms of [0, LONG_GRACE_MS, LONG_GRACE_MS]) {
      nowMs += ms;
      await one.pass();
    }
    await rm(join(records, "c1~net1~bridge.json"));
    await writeFile(join(netns, "pod"), "");
    for (const ms of [LONG_GRACE_MS, LONG_GRACE_MS]) {
      nowMs += ms;
      await one.pass();
    }
    expect(outcomes).toEqual([]);
  });

  describe("where the namespace is there and the interface on the host is not", () => {
    beforeEach(async () => {
      await record();
      await writeFile(join(netns, "pod"), "");
    });

    async function passes(...afterMs: number[]): Promise<void> {
      const one = reaper();
      for (const ms of [0, ...afterMs]) {
        nowMs += ms;
        await one.pass();
      }
    }

    it("reaps once that has been so for longer than an ADD takes", async () => {
      await passes(LONG_GRACE_MS - 1);
      expect(outcomes).toEqual([]);
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(outcomes).toEqual(["success"]);
    });

    it("leaves an attachment alone whose interface is there, whatever its name", async () => {
      await attach();
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(outcomes).toEqual([]);
    });

    it("begins anew when the interface was there in between", async () => {
      const one = reaper();
      await one.pass();
      await attach();
      nowMs += LONG_GRACE_MS;
      await one.pass();
      await rm(join(links, "veth0"), { recursive: true });
      nowMs += LONG_GRACE_MS;
      await one.pass();
      expect(outcomes).toEqual([]);
    });

    it("never judges by another namespace's links", async () => {
      await rm(join(links, "lo"), { recursive: true });
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(outcomes).toEqual([]);
    });

    it("asks nothing of plugins that make no interface", async () => {
      await rm(join(records, "c1~net1~bridge.json"));
      await record({ plugin: "tuning" }, "c1~net1~tuning.json");
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(outcomes).toEqual([]);
    });
  });

  it("has nothing to do where no plugin ever ran", async () => {
    await rm(records, { recursive: true });
    expect(await reaper().pass()).toBe(0);
  });
});
