/**
 * What the programs are asked, in network namespaces made for it, and the requests they send then. The same in each run:
 * numbers of interfaces are given or follow from the order, names and MACs are given.
 */

import path from "node:path";
import { NLM_F_DUMP, RTM_GETLINK } from "../../../../cni-plugins/netlink/rtnetlink.ts";
import { buildPeers } from "../../../bench/peers.ts";
import { searchPath } from "../../../cluster/requirements.ts";
import { add, type CniCall } from "../../../netns/cni-call.ts";
import { type Machine, THIS_MACHINE } from "../../../netns/machine.ts";
import { type Namespace, Testbed } from "../../../netns/testbed.ts";
import { askedOfIproute2, PREPARED } from "./iproute2-commands.ts";
import {
  askedOfNft,
  NFT_MSG_DELCHAIN,
  NFT_MSG_DELRULE,
  NFT_MSG_NEWCHAIN,
  NFT_MSG_NEWRULE,
  NFT_MSG_NEWTABLE,
} from "./nft-commands.ts";
import { askedInGuest, askedOfReference, type ReferenceRun } from "./reference-runs.ts";
import { isOfNftables, trafficOf } from "./strace.ts";

export type Group = "link" | "port" | "address" | "vlan" | "nftables";

/** Where it belongs, the type of the message that does it, and the command line. */
export type Command = readonly [Group, number, string];

export interface Capture {
  /** As `ip -V` says. */
  readonly iproute2: string;
  /** As `nft -v` says. */
  readonly nft: string;
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

const REFERENCE = "1.9.1";
const NETNS_NAME = "pod";

/** What programs say of themselves: another version may ask in another way. */
export async function versions(): Promise<Pick<Capture, "iproute2" | "nft">> {
  const said = await Promise.all([THIS_MACHINE.run(["ip", "-V"]), THIS_MACHINE.run(["nft", "-v"])]);
  const [iproute2, nft] = said.map(({ stdout }) => /[-v](\d+\.[\d.]*\d)/.exec(stdout)?.[1] ?? stdout);
  return { iproute2: iproute2 ?? "", nft: nft ?? "" };
}

/** In the order they are stored in. */
export async function capture(): Promise<Capture> {
  const folder = await buildPeers(process.env, console.error, REFERENCE);
  const requests = [...(await ofPrograms(PREPARED, askedOfIproute2)), ...(await ofPrograms("true", askedOfNft))];
  for (const run of askedOfReference) requests.push(...(await ofReference(folder, run)));
  return { ...(await versions()), reference: REFERENCE, requests };
}

export async function captureInGuest(guest: Machine): Promise<CapturedRequest[]> {
  const folder = await buildPeers(process.env, console.error, REFERENCE);
  const requests: CapturedRequest[] = [];
  for (const run of askedInGuest) requests.push(...(await ofReference(folder, run, guest)));
  return requests;
}

type Work<T> = (node: Namespace, container: Namespace) => Promise<T>;

async function inTestbed<T>(work: Work<T>, machine: Machine = THIS_MACHINE): Promise<T> {
  const testbed = await Testbed.create(machine);
  try {
    return await work(testbed.node, await testbed.container());
  } finally {
    await testbed[Symbol.asyncDispose]();
  }
}

function ofPrograms(prepared: string, commands: readonly Command[]): Promise<CapturedRequest[]> {
  return inTestbed(async (node, container) => {
    const netns = `/run/netns/${NETNS_NAME}`;
    const script = `mkdir /run/netns && touch ${netns} && mount --bind ${container.path} ${netns}; ${prepared}`;
    const { code, stderr } = await node.run(["sh", "-c", script], { env: { PATH: searchPath() } });
    if (code !== 0) throw new Error(stderr);
    const requests: CapturedRequest[] = [];
    for (const [group, type, asked] of commands) {
      const { sent } = await trafficOf(node, { argv: argumentsOf(asked), env: { PATH: searchPath() } });
      const request = theRequest(sent, type);
      if (request === undefined) throw new Error(`${asked} sent no message of type ${type}`);
      requests.push({ group, asked, request: withoutAccidents(request) });
    }
    return requests;
  });
}

/** nft takes a command as one argument. */
export const argumentsOf = (asked: string): string[] =>
  asked.startsWith("nft ") ? ["nft", asked.slice("nft ".length)] : asked.split(" ");

/** Programs look interfaces up before and after: the list is what was asked for, or the first of the look-ups. */
function theRequest(sent: readonly Buffer[], type: number): Buffer | undefined {
  const ofType = sent.filter((message) => typeOf(message) === type);
  const list = ofType.findLast((message) => (message.readUInt16LE(6) & NLM_F_DUMP) === NLM_F_DUMP);
  if (list !== undefined && isLookup(list)) return list;
  return type === RTM_GETLINK ? ofType[0] : ofType.at(-1);
}

function ofReference(folder: string, run: ReferenceRun, machine?: Machine): Promise<CapturedRequest[]> {
  const { plugin, command, config, before, steps, ofNftables = false } = run;
  return inTestbed(async (node, container) => {
    const executable = path.join(folder, plugin);
    const call: CniCall = { node, container, executable, env: { CNI_PATH: folder, PATH: searchPath() } };
    await node.run(["sh", "-c", before], { env: { PATH: searchPath() } });
    const given = plugin === "tuning" ? { ...config, prevResult: await attach(call, config) } : config;
    if (command === "DEL") await add(call, config);
    const env = { CNI_CONTAINERID: "container", CNI_IFNAME: "net1", CNI_NETNS: container.path, ...call.env };
    const { sent } = await trafficOf(node, {
      argv: [executable],
      env: { ...env, CNI_COMMAND: command },
      input: JSON.stringify(given),
    });
    const own = ofNftables ? sent.filter((message) => isOfNftables(typeOf(message))) : sent;
    const changing = own.filter((message) => !isLookup(message));
    return steps.flatMap((step, at): CapturedRequest[] => {
      if (step === undefined) return [];
      const message = changing[at];
      if (message === undefined) throw new Error(`${plugin} ${command} ended before this: ${step[1]}`);
      const [group, what] = step;
      return [{ group, asked: `${plugin} ${command}: ${what}`, request: withoutAccidents(message) }];
    });
  }, machine);
}

function attach(call: CniCall, config: object): Promise<object> {
  const executable = path.join(call.env?.CNI_PATH ?? "", "bridge");
  return add({ ...call, executable }, { ...config, type: "bridge", bridge: "br0" });
}

const typeOf = (message: Buffer): number => message.readUInt16LE(4);

/** In nftables the requests that change something; the kinds of rtnetlink follow each other: new, delete, get, set. */
const NFT_CHANGES = [NFT_MSG_NEWTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_DELCHAIN, NFT_MSG_NEWRULE, NFT_MSG_DELRULE];

function isLookup(message: Buffer): boolean {
  const type = typeOf(message);
  return isOfNftables(type) ? !NFT_CHANGES.includes(type) : (type & 3) === 2;
}

/**
 * Without what differs from run to run and has no meaning beyond it: the message's number and the socket's, the
 * descriptor of a network namespace, the name that the reference draws for the host's end of a pair, and what happens to
 * be in the bytes that fill an attribute up.
 */
function withoutAccidents(message: Buffer): string {
  const hex = `${message.toString("hex", 0, 8)}${"0".repeat(16)}${withoutPadding(message).toString("hex", 16)}`;
  const name = Buffer.from("veth").toString("hex");
  return hex
    .replace(/08001c00..000000/, "08001c0063000000")
    .replace(new RegExp(`${name}(3[0-9]|6[1-6]){8}`), Buffer.from("veth01234567").toString("hex"));
}

const NFGENMSG_BYTES = 4;

/** The program nft leaves there what was in its memory. */
function withoutPadding(message: Buffer): Buffer {
  const clean = Buffer.from(message);
  if (!isOfNftables(typeOf(message))) return clean;
  for (let at = 16 + NFGENMSG_BYTES; at + 4 <= clean.length; ) {
    const end = at + clean.readUInt16LE(at);
    at = (end + 3) & ~3;
    clean.fill(0, end, at);
  }
  return clean;
}
