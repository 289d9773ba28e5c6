import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { exitCode } from "../cluster/command.ts";
import { findExecutable } from "../cluster/requirements.ts";
import { add, type CniCall, cni, del } from "../netns/cni-call.ts";
import { type SystemCall, systemCallsOf } from "../netns/killed-call.ts";
import type { Outcome } from "../netns/machine.ts";
import { BRIDGE, call, freshPreparedNode, node } from "../netns/prepared-node.ts";
import { shareOf } from "../support/share.ts";

/** Holds an executable on its way out of one chosen system call while something else happens on the node. */

const WITHIN = { timeout: 10_000, interval: 2 };

/**
 * Runs the call up to that system call, then `meanwhile`, then the rest. The call's answer; undefined when it made fewer
 * calls of that name than it did before, and so was never held.
 */
async function heldAt(
  at: SystemCall,
  command: string,
  call: CniCall,
  config: object,
  meanwhile: () => Promise<unknown>,
): Promise<Outcome | undefined> {
  const directory = await mkdtemp(path.join(tmpdir(), "held-"));
  const trace = path.join(directory, "trace");
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: call.containerId ?? "container",
    CNI_IFNAME: call.ifname ?? "net1",
    ...call.env,
  };
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const inject = `inject=${at.name}:signal=STOP:when=${at.nth}`;
  const strace = [findExecutable("strace") ?? "strace", "-o", trace, "-e", inject, call.executable ?? ""];
  const [program = "", ...args] = call.node.enter(["env", "-i", ...assignments, ...strace]);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  child.stdin.on("error", () => {}).end(JSON.stringify(config));
  const closed = once(child, "close");
  try {
    const held = await vi.waitFor(async () => {
      if ((await readFile(trace, "utf8")).includes("--- stopped by SIGSTOP ---")) return true;
      if (child.exitCode !== null) return false;
      throw new Error(`${command} neither came to ${at.name} ${at.nth} nor ended`);
    }, WITHIN);
    if (held) {
      await meanwhile();
      const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
      process.kill(Number(children), "SIGCONT");
    }
    await closed;
    return held ? { code: exitCode(child.exitCode, child.signalCode), ...output } : undefined;
  } finally {
    child.kill("SIGKILL");
    await rm(directory, { recursive: true });
  }
}

/** Otherwise a share of some of them. With INTERLEAVE_AT_EVERY_CALL=1 it takes a minute or two. */
const EVERY_CALL = process.env.INTERLEAVE_AT_EVERY_CALL === "1";
const SAMPLED = 10;

const LAYER_2 = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: BRIDGE };
const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const GATEWAY = { isGateway: true, ipMasq: true, ipMasqBackend: "nftables", ipam: IPAM };
const CONFIGS: readonly [string, object][] = [
  ...(EVERY_CALL ? [["on layer 2", { ...LAYER_2, macspoofchk: true }] as [string, object]] : []),
  ["with gateway and masquerading", { ...LAYER_2, ...GATEWAY, macspoofchk: true }],
];
const TRY_AGAIN_LATER = 11;
const INTERFACE_EXISTS = 102;
const NETNS_UNUSABLE = 104;
/** Of host-local, whose address for the container is not released yet. */
const ADDRESS_TAKEN = 999;

type Added = Pick<Outcome, "code" | "stdout">;

freshPreparedNode();

async function points(command: "ADD" | "DEL", config: object): Promise<readonly SystemCall[]> {
  await add(call, config);
  if (command === "ADD") await del(call, config);
  const calls = await systemCallsOf(command, call, config);
  const changing = calls.filter((one) => one.changes || (command === "ADD" && startsProgram(one)));
  if (command === "ADD") await del(call, config);
  expect(changing.length).toBeGreaterThan(8);
  if (EVERY_CALL) return changing;
  return shareOf(changing.filter((one, at) => at % SAMPLED === SAMPLED - 1 || startsProgram(one)));
}

/** An IPAM plugin that does nothing before the call is continued. */
const startsProgram = ({ name }: SystemCall) => name === "clone3" || name === "clone";

const RECORDS = "/run/cni/cluster-network-addons/attachments";
const RECORD = `${RECORDS}/container~net1~bridge.json`;

/** The reaper removes a record that an ADD left beside nothing. */
const withoutRecord = (state: string): string => state.replace(`${RECORD}\n`, "");

/**
 * After both: an attachment with all that belongs to it, as if DEL had come first; or nothing, as if ADD had, or with an
 * error that tells the runtime what to do.
 */
async function expectWholeOrNothing(added: Added | undefined, config: object, before: string, about: string) {
  const answer = JSON.parse(added?.stdout ?? "{}");
  if (added?.code === 0) {
    const check = await cni("CHECK", call, { ...config, prevResult: answer });
    if (check.code === 0) return expect(await node.shell(`ls ${RECORDS}/*`), about).toBe(`${RECORD}\n`);
  } else if (added !== undefined) {
    expect([TRY_AGAIN_LATER, NETNS_UNUSABLE], `${about}: ${added.stdout}`).toContain(answer.code);
  }
  expect(withoutRecord(await node.state()), about).toBe(before);
}

describe("beside an ADD that is held at a system call", () => {
  it.each(CONFIGS)("a DEL %s lets it fail or leaves all of it", async (_, config) => {
    const held = await points("ADD", config);
    const before = await node.state();
    for (const point of held) {
      const about = `DEL at ${point.name} ${point.nth} of ADD`;
      const added = await heldAt(point, "ADD", call, config, () => del(call, config));
      await expectWholeOrNothing(added, config, before, about);
      await del(call, config);
      expect(await node.state(), about).toBe(before);
    }
  });

  it.each(CONFIGS)("another ADD %s has all of it, or leaves all of it to the first", async (_, config) => {
    const held = await points("ADD", config);
    const before = await node.state();
    for (const point of held) {
      const about = `ADD at ${point.name} ${point.nth} of ADD`;
      let second: Added | undefined;
      const first = await heldAt(point, "ADD", call, config, async () => {
        second = await cni("ADD", call, config);
      });
      if (first !== undefined) {
        const both = [first, second].map((added) => JSON.parse(added?.stdout || "{}"));
        const [winner, ...others] = both.filter(({ code }) => code === undefined);
        expect(others, about).toEqual([]);
        for (const { code } of both.filter((one) => one !== winner)) {
          expect([TRY_AGAIN_LATER, INTERFACE_EXISTS, ADDRESS_TAKEN], `${about}: ${first.stdout}`).toContain(code);
        }
        const check = await cni("CHECK", call, { ...config, prevResult: winner });
        expect(check.code, `${about}: ${check.stdout}`).toBe(0);
        const { mac } = winner.interfaces.find((one: { sandbox?: string }) => one.sandbox !== undefined);
        expect(await node.shell("nft list chain bridge nat cni-br-iface-container-net1-mac"), about).toContain(mac);
      }
      await del(call, config);
      expect(await node.state(), about).toBe(before);
    }
  });

  it.each(CONFIGS)(
    "the bridge's deletion makes an ADD %s fail with all of it, or comes after it",
    async (_, config) => {
      const held = await points("ADD", config);
      for (const point of held) {
        const about = `bridge deleted at ${point.name} ${point.nth} of ADD`;
        const added = await heldAt(point, "ADD", call, config, () => node.shell(`ip link del ${BRIDGE}`));
        const { code } = JSON.parse(added?.stdout || "{}");
        if (added?.code !== 0) expect([TRY_AGAIN_LATER], `${about}: ${added?.stdout}`).toContain(code);
        await del(call, config);
        await node.shell(`ip link del ${BRIDGE} 2>/dev/null; ip link del keep0; true`);
        expect(
          await node.shell("ip -o link | wc -l; nft list ruleset | grep -c 'container-net1\\|id: container'; true"),
          about,
        ).toBe("1\n0\n");
        await node.makeBridge();
      }
    },
  );

  it.each(CONFIGS)("the namespace's end leaves an ADD %s that the reaper removes", async (_, config) => {
    const held = await points("ADD", config);
    await node.forgetNetns();
    const before = await node.state();
    for (const point of held) {
      const about = `namespace gone at ${point.name} ${point.nth} of ADD`;
      await node.nameNetns();
      const added = await heldAt(point, "ADD", call, config, () => node.forgetNetns());
      const { code } = JSON.parse(added?.stdout || "{}");
      if (added?.code !== 0) expect([NETNS_UNUSABLE], `${about}: ${added?.stdout}`).toContain(code);
      expect(await node.reap(), about).toBe(0);
      expect(await node.state(), about).toBe(before);
    }
  });
});

describe("beside a DEL that is held at a system call", () => {
  it.each(CONFIGS)("an ADD %s fails, or all of it is there or gone", async (_, config) => {
    const held = await points("DEL", config);
    await del(call, config);
    const before = await node.state();
    for (const point of held) {
      const about = `ADD at ${point.name} ${point.nth} of DEL`;
      await add(call, config);
      let added: Added | undefined;
      const deleted = await heldAt(point, "DEL", call, config, async () => {
        added = await cni("ADD", call, config);
      });
      expect([deleted?.code, deleted?.stdout], about).toEqual([0, ""]);
      const { code } = JSON.parse(added?.stdout || "{}");
      if (added?.code === 0) await expectWholeOrNothing(added, config, before, about);
      else expect([TRY_AGAIN_LATER, INTERFACE_EXISTS, ADDRESS_TAKEN], `${about}: ${added?.stdout}`).toContain(code);
      await del(call, config);
      expect(await node.state(), about).toBe(before);
    }
  });
});
