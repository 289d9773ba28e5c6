import { readlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { add, del } from "./cni-call.ts";
import { systemCallsOfOthers, withTaskKilledAt } from "./killed-call.ts";
import { expectAddRemovable, expectDelFinishable } from "./kills.ts";
import { call, freshPreparedNode, node } from "./prepared-node.ts";

const CONFIG = { cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: "br1" };
const CONFIGS: readonly [string, object][] = [
  ["on layer 2", CONFIG],
  ["with a spoof check", { ...CONFIG, macspoofchk: true }],
];

/** A DEL lets a child process delete the interface only where somebody waits for the child's end. */
const MAKES_CHILDREN = readlinkSync("/proc/self/ns/pid") === "pid:[4026531836]";

freshPreparedNode();

describe("a thread or a child process of a plugin that is killed on its way into a system call", () => {
  it.each(CONFIGS)(
    "leaves nothing of an ADD %s that DEL does not remove, and a DEL that succeeds all the same",
    async (_, config) => {
      await add(call, config);
      const ofDel = await systemCallsOfOthers("DEL", call, config);
      const before = await node.state();
      const ofAdd = await systemCallsOfOthers("ADD", call, config);
      await del(call, config);
      expect(ofDel.some(({ changes }) => changes)).toBe(MAKES_CHILDREN);
      for (const point of ofAdd) {
        await withTaskKilledAt(point, "ADD", call, config);
        await del(call, config);
        expect(await node.state(), `ADD's task killed at ${point.name} ${point.nth}`).toBe(before);
      }
      for (const point of ofDel) {
        await add(call, config);
        const { code } = await withTaskKilledAt(point, "DEL", call, config);
        const where = `DEL's task killed at ${point.name} ${point.nth}`;
        expect(code, where).toBe(0);
        expect(await node.state(), where).toBe(before);
      }
    },
  );
});

describe("a plugin for which no thread and no child process can be made", () => {
  const state = () => node.state();
  const names = ["clone", "clone3"];
  const failing = { names, options: names.flatMap((name) => ["-e", `inject=${name}:error=EAGAIN`]) };

  it("leaves nothing that DEL does not remove, wherever it is killed", async () => {
    const config = { ...CONFIG, macspoofchk: true };
    await expectAddRemovable({ call, config, state, failing });
    await expectDelFinishable({ call, config, state, failing });
  });
});
