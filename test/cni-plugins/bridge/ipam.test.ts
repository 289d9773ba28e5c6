/** An ADD starts its IPAM plugin before it needs it, and takes its answer at its end. */

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
/** What happened, in order: verbs of the IPAM plugin and requests to the kernel that make the pair. */
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
  const start = made.start.bind(made);
  made.start = (...call) => {
    events.push(`start, ${kernel.links.length} links`);
    return start(...call);
  };
  return made;
}

function add(): Record<string, unknown> {
  runPlugin(syscalls, bridge);
  return syscalls.answer();
}

it("starts before anything is made, and is asked when the pair is there", () => {
  expect(add()).toMatchObject({ ips: [{ address: "10.1.0.2/24" }] });
  expect(events).toEqual(["start, 0 links", "ADD, with the pair"]);
});

it("is neither asked nor told to forget when the interface exists, nor left alone", () => {
  add();
  events = [];
  syscalls = newSyscalls("ADD");
  expect(add()).toMatchObject({ code: 102 });
  expect(events).toEqual([expect.stringContaining("start")]);
  expect(syscalls.waiting).toBe(0);
});

it("is not started when there is no such namespace", () => {
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
