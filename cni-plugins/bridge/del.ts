/**
 * DEL: removes all of an attachment. It needs neither the namespace nor the ADD's result nor its configuration, goes on
 * after a failure, and says success when there is nothing (left) to remove.
 */

import { type Host, OWN_NETNS } from "../host/host.ts";
import { disableBridgePort } from "../netlink/bridge.ts";
import { getLink, type Link, linkOf } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Call } from "../protocol/plugin.ts";
import { type Attachment, HOST_NAME_CANDIDATES, hostInterfaceAlias, hostInterfaceName } from "./attachment.ts";
import { type AttachmentRecord, readRecord, removeHalfWrittenRecord, removeRecord } from "./attachment-record.ts";
import { Faults } from "./faults.ts";
import { type Ipam, type Leftovers, readLeftovers } from "./leftovers.ts";
import { deleteEarly } from "./link-deletion.ts";
import { lazyNetfilter, openNetfilter } from "./netfilter.ts";
import { type Netns, openNetnsIfPresent } from "./netns.ts";
import { load } from "./parts.ts";
import { deletePorts } from "./port-deletion.ts";

/** An ADD beside it may make the pair after it was looked for; its rules and addresses are taken then, so all goes again. */
const ROUNDS = 3;

/** What there may be on the node. */
interface Target {
  readonly host: Host;
  readonly node: NetlinkSocket;
  readonly attachment: Attachment;
  /** That the attachment's end of the pair may have. */
  readonly names: readonly string[];
  readonly alias: string;
}

export function del(call: Call): undefined {
  const { host, request } = call;
  // First of all, because a namespace that is the plugin's own must leave everything untouched.
  const netns = openNetnsIfPresent(host, request);
  const leftovers = readLeftovers(call);
  const faults = new Faults();
  const node = new NetlinkSocket(host);
  const target = { host, node, attachment: request, names: portNames(request), alias: hostInterfaceAlias(request) };
  for (let round = 0, again = true; again && round < ROUNDS; round++) {
    const recorded = findRecord(target);
    // The kernel forgets rules while it deletes the pair, so they go first where no frame can pass without them.
    const rulesFirst = recorded !== undefined && disablePort(target);
    let netfilter: NetlinkSocket | undefined;
    if (rulesFirst) {
      faults.attempt(() => {
        netfilter = openNetfilter(host);
        removeRecorded(call, netfilter, recorded);
      });
    }
    const released = leftovers.ipam.map((one) => releaseAddresses(call, one));
    faults.attempt(() => deletePair(target, netfilter));
    if (netns !== undefined) faults.attempt(() => deleteContainerInterface(host, netns, request.ifname));
    for (const end of released) faults.attempt(end);
    if (!rulesFirst) removeRules(call, target, leftovers, faults);
    faults.throwFirst();
    if (leftovers.record !== "another network's") call.forget();
    again = findPairs(target).length > 0 || (rulesFirst && findRecord(target) !== undefined);
  }
}

/** The IPAM plugin works while the kernel deletes the pair; the result waits for its end and throws its error. */
function releaseAddresses({ host }: Call, ipam: Ipam): () => void {
  const { PreparedDelegate } = load(host, "delegate");
  try {
    const running = new PreparedDelegate({ host, ...ipam }, "DEL").ask();
    return () => void running.answer();
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** What another implementation made, or what a guest's network setup put under the name since. */
function deleteContainerInterface(host: Host, { fd, socket }: Netns, ifname: string): void {
  if (!socket.mayHave(ifname)) return;
  const [answer] = socket.transact(getLink(socket.batch(), ifname));
  const link = linkOf(answer);
  if (link !== undefined) deleteEarly({ host, netns: fd, socket }, link.index);
}

/** Deleting the node's end deletes the other one, wherever it is and however it is called now. */
function deletePair(target: Target, netfilter: NetlinkSocket | undefined): void {
  const { host, node } = target;
  deletePorts({ host, netns: OWN_NETNS, socket: node, netfilter }, () => findPairs(target));
}

/** False when it is not known that no frame passes. */
function disablePort(target: Target): boolean {
  const ports = findPairs(target);
  const batch = target.node.batch();
  for (const { index } of ports) disableBridgePort(batch, index);
  return ports.length > 0 && target.node.transact(batch).every(({ error }) => error === undefined);
}

/** The attachment's interface on the node, if it is there. */
function findPairs({ node, names, alias }: Target): Link[] {
  const possible = names.filter((name) => node.mayHave(name));
  if (possible.length === 0) return [];
  const batch = node.batch();
  for (const name of possible) getLink(batch, name);
  return node.transact(batch).flatMap((answer) => {
    const link = linkOf(answer);
    if (link?.kind !== "veth") return [];
    // An ADD that was killed at once left it unnamed, and never brought it up.
    return link.alias === alias || (link.alias === "" && !link.up) ? [link] : [];
  });
}

function portNames(attachment: Attachment): string[] {
  return Array.from({ length: HOST_NAME_CANDIDATES }, (_, candidate) => hostInterfaceName(attachment, candidate));
}

function findRecord({ host, attachment, names }: Target): Recorded | undefined {
  for (const portName of names) {
    const record = readRecord(host, portName, attachment);
    if (record !== undefined) return { portName, record, attachment };
  }
  return undefined;
}

function removeRules(call: Call, target: Target, leftovers: Leftovers, faults: Faults): void {
  const { host, request } = call;
  const recorded = findRecord(target);
  if (recorded !== undefined) {
    faults.attempt(() => removeRecorded(call, openNetfilter(host), recorded));
    return;
  }
  const { spoofCheck, masquerade, record } = leftovers;
  const unasked = record === "none";
  if (spoofCheck || masquerade) for (const name of target.names) removeHalfWrittenRecord(host, name);
  if (!spoofCheck && !masquerade && !unasked) return;
  const { removeUnrecordedRules } = load(host, "unrecorded-rules");
  removeUnrecordedRules(call, lazyNetfilter(host), request, { spoofCheck, masquerade, unasked }, faults);
}

export interface Recorded {
  readonly portName: string;
  readonly attachment: Attachment;
  readonly record: AttachmentRecord;
}

/**
 * What the record says was made, and the record; also for GC. `netfilter` is best left open until the process ends, or
 * to a child that deletes a link: the kernel closes it only when it has forgotten the rules.
 */
export function removeRecorded({ host }: Call, netfilter: NetlinkSocket, recorded: Recorded): void {
  const { portName, attachment, record } = recorded;
  const { spoofRule, masqueradeRules, iptables } = record;
  if (spoofRule !== undefined) load(host, "spoof-check").removeSpoofCheck(netfilter, attachment, spoofRule);
  if (masqueradeRules !== undefined) {
    load(host, "masquerade-nftables").removeNftMasquerade(host, netfilter, attachment, masqueradeRules);
  }
  if (iptables === true) load(host, "masquerade-iptables").removeIptablesMasquerade(host, attachment);
  removeRecord(host, portName);
}
