/** An ADD asks its IPAM plugin when the pair is there, and takes back what it gave when it fails. */

import { beforeEach, describe, expect, it } from "vitest";
import { bridge } from "../../../cni-plugins/bridge/bridge.ts";
import { runPlugin } from "../../../cni-plugins/cni/plugin.ts";
import type { Finished } from "../../../cni-plugins/native/syscalls.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import { MemorySyscalls } from "../memory-syscalls.ts";

const NETNS = "/run/netns/pod";
const ENV = { CNI_CONTAINERID: "pod-1", CNI_NETNS: NETNS, CNI_IFNAME: "net1", CNI_PATH: "/bin" };
const CONFIG = { cniVersion: "1.0.0", name: "net", type: "bridge", bridge: "br1", ipam: { type: "ipam" } };
const ANSWER = JSON.stringify({ cniVersion: "1.0.0", ips: [{ address: "10.1.0.2/24" }] });

let kernel: MemoryKernel;
let syscalls: MemorySyscalls;
/** Verbs of the IPAM plugin, in order. */
let events: string[];
let outcome: Partial<Finished>;

beforeEach(() => {
  kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
  events = [];
  outcome = { stdout: ANSWER };
  syscalls = newSyscalls("ADD");
});

function newSyscalls(command: string): MemorySyscalls {
  const made = new MemorySyscalls(kernel, { ...ENV, CNI_COMMAND: command }, JSON.stringify(CONFIG));
  made.programs["/bin/ipam"] = ({ assignments }) => {
    const verb = assignments.join().replace("CNI_COMMAND=", "");
    events.push(`${verb}, ${kernel.find("net1", NETNS) === undefined ? "without" : "with"} the pair`);
    return verb === "ADD" ? outcome : {};
  };
  return made;
}

function add(): Record<string, unknown> {
  runPlugin(syscalls, bridge);
  return syscalls.answer();
}

it("is asked when the pair is there", () => {
  expect(add()).toMatchObject({ ips: [{ address: "10.1.0.2/24" }] });
  expect(events).toEqual(["ADD, with the pair"]);
});

it("is neither asked nor told to forget when the interface exists", () => {
  add();
  events = [];
  syscalls = newSyscalls("ADD");
  expect(add()).toMatchObject({ code: 102 });
  expect(events).toEqual([]);
});

it("is not asked when there is no such namespace", () => {
  kernel.namespaces.clear();
  expect(add()).toMatchObject({ code: 104 });
  expect(events).toEqual([]);
});

describe("all of an ADD is taken back", () => {
  const failing: readonly [string, Partial<Finished>, object][] = [
    [
      "says more after its answer",
      { stdout: `${ANSWER} oops` },
      { msg: expect.stringContaining("did not answer in JSON") },
    ],
    ["answers with an error", { code: 1, stdout: '{"code":11,"msg":"none left"}' }, { code: 11, msg: "none left" }],
    ["fails without a word", { code: 1 }, { msg: expect.stringContaining("without a message") }],
    ["gives no address", { stdout: "{}" }, { msg: expect.stringContaining("at least one address") }],
  ];
  it.each(failing)("when the IPAM plugin %s", (_, failure, answer) => {
    outcome = failure;
    expect(add()).toMatchObject(answer);
    expect(kernel.links).toEqual([]);
    expect(events.at(-1)).toMatch(/^DEL/);
  });
});
