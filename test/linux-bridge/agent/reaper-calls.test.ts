import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CONFIG, LONG_GRACE_MS, RECORD, ReapedNode } from "./reaped-node.ts";

let node: ReapedNode;

beforeEach(async () => {
  node = await ReapedNode.create();
});

afterEach(() => node[Symbol.asyncDispose]());

describe("the calls of the reaper", () => {
  /** It ends neither by itself nor when its plugin does, and keeps what the plugin's output goes to. */
  const HANGING = 'sleep 3600 & echo $! > "$CNI_PATH/pid"; wait';

  const pidOfHanging = async (): Promise<number> => Number(await readFile(join(node.plugins, "pid"), "utf8"));

  const hangs = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
    } catch {
      return false;
    }
  };

  it("ends a plugin that does not end, with what it called, and goes on", async () => {
    await node.record();
    await node.plugin(HANGING);
    await node.reap(node.reaper(2000));
    expect(node.outcomes).toEqual(["error"]);
    const pid = await pidOfHanging();
    await vi.waitFor(() => expect(hangs(pid)).toBe(false));
  });

  it("told to stop, ends the plugin that is at work and calls no other", async () => {
    await node.record();
    await node.record({ containerId: "c2" }, "c2~net1~bridge.json");
    await node.plugin(`echo >> "$CNI_PATH/calls"; ${HANGING}`);
    const reaping = node.reap();
    await vi.waitFor(async () => expect(await pidOfHanging()).toBeGreaterThan(0));
    node.stop.abort();
    await reaping;
    expect(await readFile(join(node.plugins, "calls"), "utf8")).toBe("\n");
  });

  describe("looks again before each call, whatever an earlier one took", () => {
    const second = { ...RECORD, containerId: "c2", netns: "/run/netns/pod2" };
    const secondFile = "c2~net1~bridge.json";
    const called = 'echo "$CNI_CONTAINERID" >> "$CNI_PATH/calls"';

    it.each([
      ["the namespace came", 'touch "$CNI_PATH/../netns/pod2" "$CNI_PATH/../netns/pod"'],
      ["it was attached anew elsewhere", 'cp "$CNI_PATH/../new" "$CNI_PATH/../records/$OTHER~net1~bridge.json"'],
      ["it was deleted", 'rm "$CNI_PATH/../records/$OTHER~net1~bridge.json"'],
    ])("%s", async (_, script) => {
      await node.record();
      await node.record(second, secondFile);
      await writeFile(join(node.netns, "new"), "");
      await writeFile(join(node.root, "new"), JSON.stringify({ ...second, netns: "/run/netns/new", config: CONFIG }));
      const other = "case $CNI_CONTAINERID in c1) OTHER=c2;; *) OTHER=c1;; esac";
      await node.plugin(`${called}; ${other}; ${script}`);
      await node.reap();
      expect((await readFile(join(node.plugins, "calls"), "utf8")).trim().split("\n")).toHaveLength(1);
    });

    it("its interface came", async () => {
      await writeFile(join(node.netns, "pod"), "");
      await node.record();
      await node.record({ ...second, netns: RECORD.netns }, secondFile);
      const attached = (id: string) => `echo "cni-bridge:net/${id}/net1" > "$CNI_PATH/../links/${id}"`;
      await node.plugin(`${called}; ${attached("c1")}; ${attached("c2")}`);
      const one = node.reaper();
      await one.pass();
      node.nowMs += LONG_GRACE_MS;
      await one.pass();
      expect((await readFile(join(node.plugins, "calls"), "utf8")).trim().split("\n")).toHaveLength(1);
    });
  });
});
