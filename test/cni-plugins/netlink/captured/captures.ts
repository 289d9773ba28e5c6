/**
 * What the programs are asked, in network namespaces made for it, and the requests they send then. The same in each run:
 * numbers of interfaces are given or follow from the order, names and MACs are given.
 */

import path from "node:path";
import { NLM_F_DUMP, RTM_GETLINK } from "../../../../cni-plugins/netlink/rtnetlink.ts";
import { buildPeers } from "../../../bench/peers.ts";
import { add, type CniCall } from "../../../netns/cni-call.ts";
import { THIS_MACHINE } from "../../../netns/machine.ts";
import { type Namespace, Testbed } from "../../../netns/testbed.ts";
import { askedOfIproute2, PREPARED } from "./iproute2-commands.ts";
import { askedOfReference, type ReferenceRun } from "./reference-runs.ts";
import { trafficOf } from "./strace.ts";

export type Group = "link" | "port" | "address" | "vlan";

export interface Capture {
  /** As `ip -V` says. */
  readonly iproute2: string;
  readonly reference: string;
  readonly requests: readonly CapturedRequest[];
}

export interface CapturedRequest {
  readonly group: Group;
  /** The command line, or the reference plugin's call and the step of it: `reference-runs.ts`. */
  readonly asked: string;
  /** Hexadecimal, with the message's header. */
  readonly request: string;
}

const PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
const NETNS_NAME = "pod";

/** What `ip` says of itself: another version may ask in another way. */
export async function iproute2Version(): Promise<string> {
  const { stdout } = await THIS_MACHINE.run(["ip", "-V"]);
  return /iproute2-(\d[^,\s]*)/.exec(stdout)?.[1] ?? stdout;
}

/** In the order they are stored in. */
export async function capture(): Promise<Capture> {
  const reference = "1.9.1";
  const folder = await buildPeers(process.env, console.error, reference);
  const requests = await ofIproute2();
  for (const run of askedOfReference) requests.push(...(await ofReference(folder, run)));
  return { iproute2: await iproute2Version(), reference, requests };
}

async function inTestbed<T>(work: (node: Namespace, container: Namespace) => Promise<T>): Promise<T> {
  const testbed = await Testbed.create();
  try {
    return await work(testbed.node, await testbed.container());
  } finally {
    await testbed[Symbol.asyncDispose]();
  }
}

function ofIproute2(): Promise<CapturedRequest[]> {
  return inTestbed(async (node, container) => {
    const netns = `/run/netns/${NETNS_NAME}`;
    const script = `mkdir /run/netns && touch ${netns} && mount --bind ${container.path} ${netns}; ${PREPARED}`;
    const { code, stderr } = await node.run(["sh", "-c", script], { env: { PATH } });
    if (code !== 0) throw new Error(stderr);
    const requests: CapturedRequest[] = [];
    for (const [group, type, asked] of askedOfIproute2) {
      const { sent } = await trafficOf(node, { argv: asked.split(" "), env: { PATH } });
      const request = theRequest(sent, type);
      if (request === undefined) throw new Error(`${asked} sent no message of type ${type}`);
      requests.push({ group, asked, request: withoutAccidents(request) });
    }
    return requests;
  });
}

/** Programs look interfaces up before and after: the list is what was asked for, or the first of the look-ups. */
function theRequest(sent: readonly Buffer[], type: number): Buffer | undefined {
  const ofType = sent.filter((message) => message.readUInt16LE(4) === type);
  const list = ofType.findLast((message) => (message.readUInt16LE(6) & NLM_F_DUMP) === NLM_F_DUMP);
  if (list !== undefined && isLookup(list)) return list;
  return type === RTM_GETLINK ? ofType[0] : ofType.at(-1);
}

function ofReference(folder: string, { plugin, command, config, before, steps }: ReferenceRun) {
  return inTestbed(async (node, container) => {
    const executable = path.join(folder, plugin);
    const call: CniCall = { node, container, executable, env: { CNI_PATH: folder } };
    await node.run(["sh", "-c", before], { env: { PATH } });
    const given = plugin === "tuning" ? { ...config, prevResult: await attach(call, config) } : config;
    if (command === "DEL") await add(call, config);
    const env = { CNI_CONTAINERID: "container", CNI_IFNAME: "net1", CNI_NETNS: container.path, ...call.env };
    const { sent } = await trafficOf(node, {
      argv: [executable],
      env: { ...env, CNI_COMMAND: command },
      input: JSON.stringify(given),
    });
    const changing = sent.filter((message) => !isLookup(message));
    return steps.flatMap((step, at): CapturedRequest[] => {
      if (step === undefined) return [];
      const message = changing[at];
      if (message === undefined) throw new Error(`${plugin} ${command} ended before this: ${step[1]}`);
      const [group, what] = step;
      return [{ group, asked: `${plugin} ${command}: ${what}`, request: withoutAccidents(message) }];
    });
  });
}

function attach(call: CniCall, config: object): Promise<object> {
  const executable = path.join(call.env?.CNI_PATH ?? "", "bridge");
  return add({ ...call, executable }, { ...config, type: "bridge", bridge: "br0" });
}

/** The kinds of a family's messages follow each other: new, delete, get, set. */
const isLookup = (message: Buffer): boolean => (message.readUInt16LE(4) & 3) === 2;

/**
 * Without what differs from run to run and has no meaning beyond it: the message's number and the socket's, the
 * descriptor of a network namespace, and the name that the reference draws for the host's end of a pair.
 */
function withoutAccidents(message: Buffer): string {
  const hex = `${message.toString("hex", 0, 8)}${"0".repeat(16)}${message.toString("hex", 16)}`;
  const name = Buffer.from("veth").toString("hex");
  return hex
    .replace(/08001c00..000000/, "08001c0063000000")
    .replace(new RegExp(`${name}(3[0-9]|6[1-6]){8}`), Buffer.from("veth01234567").toString("hex"));
}
