/** `ipMasq` with the node's iptables: one chain for an attachment, the reference's names and comments. */

import { CniError, IPTABLES_FAILED } from "../cni/cni-error.ts";
import { formatIpAddress, formatIpPrefix, type IpPrefix, isIpv4, networkOf } from "../cni/ip-address.ts";
import type { Finished, Syscalls } from "../native/syscalls.ts";
import { ENOENT } from "../netlink/errno.ts";
import * as nft from "../netlink/nftables.ts";
import type { Attachment } from "./attachment.ts";
import { openNetfilter } from "./netfilter.ts";

const CHAIN_CHARACTERS = 28;
/** Where programs are when the environment has no PATH. */
const USUAL_PATH = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin";
const TABLE = "nat";
const HOOK_CHAIN = "POSTROUTING";

interface Family {
  readonly program: string;
  readonly multicast: string;
  readonly number: number;
}

const IPV4: Family = { program: "iptables", multicast: "224.0.0.0/4", number: nft.NFPROTO_IPV4 };
const IPV6: Family = { program: "ip6tables", multicast: "ff00::/8", number: nft.NFPROTO_IPV6 };

export function hasIptables(syscalls: Syscalls): boolean {
  return find(syscalls, IPV4.program) !== undefined;
}

function chainOf(syscalls: Syscalls, { network, containerId }: Attachment): string {
  return `CNI-${syscalls.sha512(network + containerId)}`.slice(0, CHAIN_CHARACTERS);
}

function commentOf({ network, containerId }: Attachment): string[] {
  return ["-m", "comment", "--comment", `${commentStart(network)}${containerId}"`];
}

function commentStart(network: string): string {
  return `name: "${network}" id: "`;
}

export function addIptablesMasquerade(
  syscalls: Syscalls,
  attachment: Attachment,
  addresses: readonly IpPrefix[],
): void {
  const chain = chainOf(syscalls, attachment);
  const comment = commentOf(attachment);
  for (const prefix of addresses) {
    const family = isIpv4(prefix.address) ? IPV4 : IPV6;
    const made = run(syscalls, family, ["-N", chain]);
    if (made.code !== 0 && run(syscalls, family, ["-n", "-L", chain]).code !== 0) throw failed(family, made);
    const network = formatIpPrefix({ address: networkOf(prefix), length: prefix.length });
    append(syscalls, family, chain, ["-d", network, "-j", "ACCEPT", ...comment], made.code === 0);
    append(syscalls, family, chain, ["!", "-d", family.multicast, "-j", "MASQUERADE", ...comment], made.code === 0);
    append(
      syscalls,
      family,
      HOOK_CHAIN,
      ["-s", formatIpAddress(prefix.address), "-j", chain, ...comment],
      made.code === 0,
    );
  }
}

/** A rule that is there already stays the only one. */
function append(syscalls: Syscalls, family: Family, chain: string, rule: readonly string[], isNew: boolean): void {
  if (!isNew && run(syscalls, family, ["-C", chain, ...rule]).code === 0) return;
  const done = run(syscalls, family, ["-A", chain, ...rule]);
  if (done.code !== 0) throw failed(family, done);
}

/** Whatever leads to the attachment's chain, and the chain. */
export function removeIptablesMasquerade(syscalls: Syscalls, attachment: Attachment): void {
  const chain = chainOf(syscalls, attachment);
  for (const family of [IPV4, IPV6]) {
    if (find(syscalls, family.program) === undefined) {
      removeNftChain(syscalls, family.number, chain);
      continue;
    }
    if (run(syscalls, family, ["-F", chain]).code !== 0) continue;
    const listed = run(syscalls, family, ["-S", HOOK_CHAIN]).stdout.split("\n");
    for (const rule of listed.map(splitRule).filter((words) => words.includes(chain))) {
      run(syscalls, family, ["-D", ...rule.slice(1)]);
    }
    const done = run(syscalls, family, ["-X", chain]);
    if (done.code !== 0) throw failed(family, done);
  }
}

/**
 * For where this process finds no iptables, as in the node agent's image. Today's iptables writes nftables rules. The rules
 * of iptables-legacy can't be removed without it. Removes the chain and the rules of POSTROUTING that lead to it; there may
 * be none.
 */
function removeNftChain(syscalls: Syscalls, family: number, chain: string): void {
  const table: nft.NftTable = { family, name: TABLE };
  const socket = openNetfilter(syscalls);
  try {
    const { error, messages } = socket.dump((batch) => nft.dumpRules(batch, table, HOOK_CHAIN));
    if (error !== undefined && error.errno !== ENOENT) throw error;
    const batch = nft.beginTransaction(socket.batch());
    for (const { handle, leadsTo } of messages.map(nft.readRule)) {
      if (leadsTo === chain) nft.deleteRules(batch, table, HOOK_CHAIN, handle);
    }
    nft.deleteChain(batch, table, chain);
    const failed = socket.transact(nft.endTransaction(batch)).find(({ error: one }) => one !== undefined)?.error;
    if (failed !== undefined && failed.errno !== ENOENT) throw failed;
  } finally {
    socket.close();
  }
}

/** GC: chains of the network whose container is not among the valid ones. */
export function collectIptablesMasquerade(syscalls: Syscalls, network: string, valid: readonly Attachment[]): void {
  for (const family of [IPV4, IPV6].filter(({ program }) => find(syscalls, program) !== undefined)) {
    const rules = run(syscalls, family, ["-S"]).stdout.split("\n").map(splitRule);
    const containers = rules.map((rule) => containerOf(syscalls, network, rule));
    for (const [at, containerId] of containers.entries()) {
      if (containerId === undefined || containers.indexOf(containerId) < at) continue;
      if (valid.some((one) => one.containerId === containerId)) continue;
      removeIptablesMasquerade(syscalls, { network, containerId, ifname: "" });
    }
  }
}

/** The container that a rule of the network masquerades: its comment names it, and the chain's name proves it. */
function containerOf(syscalls: Syscalls, network: string, rule: readonly string[]): string | undefined {
  const comment = rule[rule.indexOf("--comment") + 1] ?? "";
  const start = commentStart(network);
  if (!comment.startsWith(start)) return undefined;
  const containerId = comment.slice(start.length, -1);
  return rule.includes(chainOf(syscalls, { network, containerId, ifname: "" })) ? containerId : undefined;
}

/** CHECK: the attachment's chain is there for each family of its addresses. */
export function hasIptablesMasquerade(
  syscalls: Syscalls,
  attachment: Attachment,
  addresses: readonly IpPrefix[],
): boolean {
  const chain = chainOf(syscalls, attachment);
  const isThere = (family: Family) => run(syscalls, family, ["-n", "-L", chain]).code === 0;
  return addresses.every(({ address }) => isThere(isIpv4(address) ? IPV4 : IPV6));
}

/** A line of `iptables -S` as arguments: words, or texts in quotes in which a backslash escapes. */
function splitRule(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line.charAt(i);
    if (c === '"') {
      quoted = !quoted;
      word ??= "";
    } else if (c === "\\" && quoted) {
      i++;
      word = (word ?? "") + line.charAt(i);
    } else if (c === " " && !quoted) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

function run(syscalls: Syscalls, { program }: Family, args: readonly string[]): Finished {
  const file = find(syscalls, program);
  if (file === undefined) {
    throw new CniError(
      IPTABLES_FAILED,
      `"ipMasq" with the iptables back end needs ${program} on this node: install it or set "ipMasqBackend" to "nftables"`,
    );
  }
  return syscalls.exec(file, ["--wait", "-t", TABLE, ...args], [], "");
}

function find(syscalls: Syscalls, program: string): string | undefined {
  const folders = (syscalls.env("PATH") || USUAL_PATH).split(":");
  return folders.map((folder) => `${folder}/${program}`).find((file) => syscalls.isExecutable(file));
}

function failed({ program }: Family, { code, stderr }: Finished): CniError {
  return new CniError(IPTABLES_FAILED, `${program} failed (exit code ${code}): ${stderr.trim()}`);
}
