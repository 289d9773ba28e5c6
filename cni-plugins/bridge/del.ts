/**
 * DEL: removes all of an attachment. It needs neither the namespace nor the result nor the configuration of the ADD. It goes
 * on after a failure, and succeeds when nothing is left to remove.
 */

import { runDelegate } from "../cni/delegate.ts";
import { openNetnsIfPresent } from "../cni/netns.ts";
import type { Call } from "../cni/plugin.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { disableBridgePort } from "../netlink/bridge.ts";
import { deleteIfPresent, findLink, getLink, type Link, linkOf } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import {
  type Attachment,
  HOST_NAME_CANDIDATES,
  hostInterfaceAlias,
  hostInterfaceName,
  isAliasOfAnother,
} from "./attachment.ts";
import {
  type RecordedRules,
  readRuleRecord,
  removeHalfWrittenRuleRecord,
  removeRecordedRules,
  removeUnrecordedRules,
} from "./attachment-rules.ts";
import { type DelPlan, planDel } from "./del-plan.ts";
import { ErrorCollector } from "./error-collector.ts";
import { lazyNetfilter, openNetfilter } from "./netfilter.ts";

/** A concurrent ADD may make the pair after DEL looked for it, and lose its rules and addresses to DEL: all goes again. */
const ROUNDS = 3;

/** What DEL looks for on the node. */
interface Target {
  readonly syscalls: Syscalls;
  readonly node: NetlinkSocket;
  readonly attachment: Attachment;
  /** Names that the port may have. */
  readonly names: readonly string[];
  readonly alias: string;
}

export function del(call: Call): undefined {
  const { syscalls, request } = call;
  // First, because nothing may be touched if the namespace is the plugin's own.
  const netns = openNetnsIfPresent(syscalls, request);
  const plan = planDel(call);
  const errors = new ErrorCollector();
  const node = new NetlinkSocket(syscalls);
  const target = { syscalls, node, attachment: request, names: portNames(request), alias: hostInterfaceAlias(request) };
  for (let round = 0, again = true; again && round < ROUNDS; round++) {
    const recorded = findRecordedRules(target);
    // The kernel frees rules while it deletes the pair, so they go first if no frame can pass meanwhile.
    const rulesFirst = recorded !== undefined && disablePort(target);
    if (rulesFirst) errors.collect(() => removeRecordedRules(call, openNetfilter(syscalls), recorded));
    errors.collect(() => deletePair(target));
    if (netns !== undefined) errors.collect(() => deleteContainerInterface(target, netns.socket));
    for (const one of plan.ipam) errors.collect(() => runDelegate({ syscalls, ...one }, "DEL"));
    if (!rulesFirst) removeRules(call, target, plan, errors);
    errors.throwFirst();
    if (plan.record !== "another network's") call.removeRecord();
    again = findPairs(target).length > 0 || (rulesFirst && findRecordedRules(target) !== undefined);
  }
}

/** Another implementation's interface, or one that the guest's network setup gave the name since. */
function deleteContainerInterface(target: Target, container: NetlinkSocket): void {
  const { ifname } = target.attachment;
  const link = findLink(container, ifname);
  if (link !== undefined && !isOfAnother(target, link)) deleteIfPresent(container, link.index);
}

/** A late DEL may come when the namespace, or the name in it, belongs to another attachment: the port's alias tells. */
function isOfAnother({ node, attachment }: Target, { kind, index, peer }: Link): boolean {
  if (kind !== "veth" || peer === 0) return false;
  const port = findLink(node, peer);
  return port?.kind === "veth" && port.peer === index && isAliasOfAnother(port.alias, attachment);
}

/** The other end goes with the port, wherever it is and whatever its name is now. */
function deletePair(target: Target): void {
  for (const { index } of findPairs(target)) deleteIfPresent(target.node, index);
}

/** False when frames may still pass. */
function disablePort(target: Target): boolean {
  const ports = findPairs(target);
  const batch = target.node.batch();
  for (const { index } of ports) disableBridgePort(batch, index);
  return ports.length > 0 && target.node.transact(batch).every(({ error }) => error === undefined);
}

/** The ports of the attachment. */
function findPairs({ node, names, alias }: Target): Link[] {
  const batch = node.batch();
  for (const name of names) getLink(batch, name);
  return node.transact(batch).flatMap((answer) => {
    const link = linkOf(answer);
    if (link?.kind !== "veth") return [];
    // An ADD that was killed early left its port down and without an alias.
    return link.alias === alias || (link.alias === "" && !link.up) ? [link] : [];
  });
}

function portNames(attachment: Attachment): string[] {
  return Array.from({ length: HOST_NAME_CANDIDATES }, (_, candidate) => hostInterfaceName(attachment, candidate));
}

function findRecordedRules({ syscalls, attachment, names }: Target): RecordedRules | undefined {
  for (const portName of names) {
    const rules = readRuleRecord(syscalls, portName, attachment);
    if (rules !== undefined) return { portName, rules, attachment };
  }
  return undefined;
}

function removeRules(call: Call, target: Target, plan: DelPlan, errors: ErrorCollector): void {
  const { syscalls, request } = call;
  const recorded = findRecordedRules(target);
  if (recorded !== undefined) {
    errors.collect(() => removeRecordedRules(call, openNetfilter(syscalls), recorded));
    return;
  }
  const { spoofCheck, masquerade, record } = plan;
  const unasked = record === "none";
  if (spoofCheck || masquerade) for (const name of target.names) removeHalfWrittenRuleRecord(syscalls, name);
  if (!spoofCheck && !masquerade && !unasked) return;
  removeUnrecordedRules(call, lazyNetfilter(syscalls), request, { spoofCheck, masquerade, unasked }, errors);
}
