import { mkdir, open, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONFIG, GRACE_MS, LONG_GRACE_MS, RECORD, ReapedNode } from "./reaped-node.ts";

let node: ReapedNode;

beforeEach(async () => {
  node = await ReapedNode.create();
});

afterEach(() => node[Symbol.asyncDispose]());

describe("the reaper", () => {
  it("calls the plugin's own DEL with the ADD's configuration once the namespace has been gone for a while", async () => {
    await node.record();
    const one = node.reaper();
    expect(await one.pass()).toBe(1);
    expect(node.outcomes).toEqual([]);
    node.nowMs += GRACE_MS;
    expect(await one.pass()).toBe(0);
    expect(node.outcomes).toEqual(["success"]);
    expect(await readFile(join(node.plugins, "stdin"), "utf8")).toBe(CONFIG);
    const env = await readFile(join(node.plugins, "env"), "utf8");
    for (const line of ["CNI_COMMAND=DEL", "CNI_CONTAINERID=c1", "CNI_IFNAME=net1"]) expect(env).toContain(line);
    expect(env).not.toContain("CNI_NETNS");
  });

  it("leaves attachments alone whose namespace is there, or came back within the grace", async () => {
    await node.record();
    const one = node.reaper();
    await one.pass();
    await writeFile(join(node.netns, "pod"), "");
    node.nowMs += GRACE_MS;
    expect(await one.pass()).toBe(0);
    await rm(join(node.netns, "pod"));
    expect(await one.pass()).toBe(1);
    expect(node.outcomes).toEqual([]);
  });

  it.each([
    ["a process's own path", { netns: "/proc/4711/ns/net" }],
    ["a path below the directory", { netns: "/run/netns/deeper/pod" }],
    ["a directory that only looks like it", { netns: "/srv/run/netns/pod" }],
  ])("never judges %s", async (_, more) => {
    await node.record(more);
    await node.reap();
    expect(node.outcomes).toEqual([]);
  });

  it("never judges anything while the directory of namespaces can't be seen", async () => {
    await node.record();
    await rm(node.netns, { recursive: true });
    await node.reap();
    expect(node.outcomes).toEqual([]);
  });

  it("never judges anything by a directory of namespaces that was removed on the node", async () => {
    await node.record();
    const shown = await open(node.netns);
    node.netnsShown = `/proc/self/fd/${shown.fd}`;
    await rm(node.netns, { recursive: true });
    await mkdir(node.netns);
    await node.reap();
    await shown.close();
    expect(node.outcomes).toEqual([]);
  });

  it("judges each path by its own directory: on some nodes /var/run/netns is another one than /run/netns", async () => {
    await node.record({ netns: "/var/run/netns/pod" });
    await node.reap();
    expect(node.outcomes).toEqual([]);
    await mkdir(node.varRunNetns);
    await writeFile(join(node.varRunNetns, "pod"), "");
    await node.reap();
    expect(node.outcomes).toEqual([]);
    await rm(join(node.varRunNetns, "pod"));
    await node.reap();
    expect(node.outcomes).toEqual(["success"]);
  });

  it("never judges a name that leads to where this pod can't look", async () => {
    await node.record();
    await symlink("/proc/2147483647/ns/net", join(node.netns, "pod"));
    await node.reap();
    expect(node.outcomes).toEqual([]);
  });

  it("tries again later when the plugin fails, and ever less often", async () => {
    await node.record();
    await node.plugin('echo "{}"; exit 1');
    const one = node.reaper();
    await node.reap(one);
    const failuresAfter = async (ms: number): Promise<number> => {
      node.nowMs += ms;
      await one.pass();
      return node.outcomes.length;
    };
    expect(await failuresAfter(0)).toBe(1);
    expect(await failuresAfter(59_999)).toBe(1);
    expect(await failuresAfter(1)).toBe(2);
    expect(await failuresAfter(119_999)).toBe(2);
    expect(await failuresAfter(1)).toBe(3);
    expect(one.failing).toBe(1);
    for (let more = 0; more < 10; more++) await failuresAfter(3_600_000);
    expect(node.outcomes).toEqual(Array.from({ length: 13 }, () => "error"));
    await rm(join(node.records, "c1~net1~bridge.json"));
    await one.pass();
    expect(one.failing).toBe(0);
  });

  it("looks for lost interfaces also where what the runtime cached can't be read", async () => {
    await rm(node.results, { recursive: true });
    await writeFile(node.results, "no directory");
    await node.record();
    await writeFile(join(node.netns, "pod"), "");
    const one = node.reaper();
    await one.pass().catch(() => undefined);
    node.nowMs += LONG_GRACE_MS;
    await expect(one.pass()).rejects.toThrow("ENOTDIR");
    expect(node.outcomes).toEqual(["success"]);
  });

  it("ignores files that are no records, and plugins that it does not know", async () => {
    await node.record({}, "c1~net1~bridge.json.tmp");
    await writeFile(join(node.records, "c2~net1~bridge.json"), "{");
    await writeFile(join(node.records, "c3~net1~bridge.json"), JSON.stringify({ ...RECORD, ifname: 1 }));
    await node.record({ plugin: "../../bin/sh" }, "c4~net1~bridge.json");
    await node.reap();
    expect(node.outcomes).toEqual([]);
  });

  it("removes what a killed plugin had begun to write, once it is no longer being written", async () => {
    const file = "c1~net1~bridge.json.tmp";
    await node.record({}, file);
    await node.reaper().pass();
    expect(await readdir(node.records)).toEqual([file]);
    const longAgo = new Date(Date.now() - 2 * GRACE_MS);
    await utimes(join(node.records, file), longAgo, longAgo);
    await node.reaper().pass();
    expect(await readdir(node.records)).toEqual([]);
  });

  it.each([
    ["the runtime", () => node.results],
    ["multus", () => node.multusResults],
  ])("takes what %s cached for what another plugin of the name attached, after a longer while", async (_, cache) => {
    const cachedIn = cache();
    const config = Buffer.from(JSON.stringify({ ...JSON.parse(CONFIG), type: "cnv-bridge", name: "net" }));
    const result = { interfaces: [{ name: "net1", sandbox: RECORD.netns }] };
    const cached = { kind: "cniCacheV1", containerId: "c1", ifName: "net1", networkName: "net", result };
    await writeFile(join(cachedIn, "net-c1-net1"), JSON.stringify({ ...cached, config: config.toString("base64") }));
    const one = node.reaper();
    await node.reap(one);
    expect(node.outcomes).toEqual([]);
    node.nowMs += LONG_GRACE_MS;
    await one.pass();
    expect(node.outcomes).toEqual(["success"]);
    expect(await readFile(join(node.plugins, "stdin"), "utf8")).toBe(config.toString());
    node.nowMs += LONG_GRACE_MS;
    await one.pass();
    expect([node.outcomes, await readdir(cachedIn)]).toEqual([["success"], ["net-c1-net1"]]);
  });

  it("takes a cached result for what it says now: of a container that is attached anew under its ids", async () => {
    const config = Buffer.from('{"type":"bridge"}').toString("base64");
    const cached = { kind: "cniCacheV1", ifName: "net1", networkName: "net", config };
    const cache = (containerId: string, netns: string): Promise<void> =>
      writeFile(join(node.results, containerId), JSON.stringify({ ...cached, containerId, netns }));
    for (const id of ["c1", "c2"]) await cache(id, RECORD.netns);
    await writeFile(join(node.netns, "anew"), "");
    await node.plugin('sed -i s/pod/anew/ "$CNI_PATH"/../results/*');
    const one = node.reaper();
    const passAfter = (ms: number): Promise<number> => {
      node.nowMs += ms;
      return one.pass();
    };
    for (const ms of [0, LONG_GRACE_MS, LONG_GRACE_MS]) await passAfter(ms);
    expect(node.outcomes).toEqual(["success"]);
    await rm(join(node.netns, "anew"));
    for (const ms of [LONG_GRACE_MS, LONG_GRACE_MS]) await passAfter(ms);
    expect(node.outcomes).toEqual(["success", "success", "success"]);
  });

  it("leaves a cached result alone while there is a record of the same, or its namespace", async () => {
    const config = Buffer.from('{"type":"bridge"}').toString("base64");
    const cached = { kind: "cniCacheV1", containerId: "c1", ifName: "net1", networkName: "net", config };
    await writeFile(join(node.results, "net-c1-net1"), JSON.stringify({ ...cached, netns: RECORD.netns }));
    await node.record({ netns: "/proc/1/ns/net" });
    await node.attach();
    const one = node.reaper();
    for (const ms of [0, LONG_GRACE_MS, LONG_GRACE_MS]) {
      node.nowMs += ms;
      await one.pass();
    }
    await rm(join(node.records, "c1~net1~bridge.json"));
    await writeFile(join(node.netns, "pod"), "");
    for (const ms of [LONG_GRACE_MS, LONG_GRACE_MS]) {
      node.nowMs += ms;
      await one.pass();
    }
    expect(node.outcomes).toEqual([]);
  });

  describe("where the namespace is there and the interface on the host is not", () => {
    beforeEach(async () => {
      await node.record();
      await writeFile(join(node.netns, "pod"), "");
    });

    async function passes(...afterMs: number[]): Promise<void> {
      const one = node.reaper();
      for (const ms of [0, ...afterMs]) {
        node.nowMs += ms;
        await one.pass();
      }
    }

    it("reaps once that has been so for longer than an ADD takes", async () => {
      await passes(LONG_GRACE_MS - 1);
      expect(node.outcomes).toEqual([]);
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(node.outcomes).toEqual(["success"]);
    });

    it("leaves an attachment alone whose interface is there, whatever its name", async () => {
      await node.attach();
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(node.outcomes).toEqual([]);
    });

    it("begins anew when the interface was there in between", async () => {
      const one = node.reaper();
      await one.pass();
      await node.attach();
      node.nowMs += LONG_GRACE_MS;
      await one.pass();
      await rm(join(node.links, "veth0"));
      node.nowMs += LONG_GRACE_MS;
      await one.pass();
      expect(node.outcomes).toEqual([]);
    });

    it("judges nothing while the links can't be listed, and begins anew when they can", async () => {
      const one = node.reaper();
      await one.pass();
      await mkdir(join(node.links, "unreadable"));
      node.nowMs += LONG_GRACE_MS;
      await expect(one.pass()).rejects.toThrow("EISDIR");
      await rm(join(node.links, "unreadable"), { recursive: true });
      node.nowMs += LONG_GRACE_MS;
      await one.pass();
      expect(node.outcomes).toEqual([]);
      node.nowMs += LONG_GRACE_MS;
      await one.pass();
      expect(node.outcomes).toEqual(["success"]);
    });

    it("asks nothing of plugins that make no interface", async () => {
      await rm(join(node.records, "c1~net1~bridge.json"));
      await node.record({ plugin: "tuning" }, "c1~net1~tuning.json");
      await passes(LONG_GRACE_MS, LONG_GRACE_MS);
      expect(node.outcomes).toEqual([]);
    });
  });

  it("has nothing to do where no plugin ever ran", async () => {
    await rm(node.records, { recursive: true });
    expect(await node.reaper().pass()).toBe(0);
  });
});
