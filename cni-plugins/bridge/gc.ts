/** GC: removes attachments of this network that the runtime does not know any more. */

import { runDelegate } from "../cni/delegate.ts";
import { removeStaleRecords } from "../cni/gc-records.ts";
import { readObjects } from "../cni/json-object.ts";
import type { Call } from "../cni/plugin.ts";
import { isAmong, validAttachments } from "../cni/request.ts";
import { deleteIfPresent, dumpLinks, readLink } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { type Attachment, attachmentOfAlias, hostInterfaceAlias } from "./attachment.ts";
import {
  type RecordedRules,
  RULE_RECORD_DIRECTORY,
  readRuleRecord,
  removeRecordedRules,
  removeUnrecordedRules,
} from "./attachment-rules.ts";
import { readIpamType } from "./config.ts";
import { ErrorCollector } from "./error-collector.ts";
import { collectIptablesMasquerade } from "./masquerade-iptables.ts";
import { collectNftMasquerade } from "./masquerade-nftables.ts";
import { lazyNetfilter, unlessFeatureIsMissing } from "./netfilter.ts";

const BY_NAME = { spoofCheck: false, masquerade: false, unasked: true };

/** Goes on after a failure, and throws the first one at the end. The next call removes what is left. */
export function gc(call: Call): undefined {
  const { syscalls, request, warn } = call;
  const { network, config } = request;
  const valid = validAttachments(config, warn)?.map((one): Attachment => ({ network, ...one }));
  const errors = new ErrorCollector();
  if (valid !== undefined) removeStaleAttachments(call, valid, errors);
  errors.collect(() => {
    const ipam = readIpamType(config);
    if (ipam !== "") runDelegate({ syscalls, request, type: ipam }, "GC");
  });
  errors.throwFirst();
  if (valid !== undefined) removeStaleRecords(call, "bridge", valid);
}

function removeStaleAttachments(call: Call, valid: readonly Attachment[], errors: ErrorCollector): void {
  const { syscalls, request, warn } = call;
  const { network, config } = request;
  const validAliases = valid.map(hostInterfaceAlias);
  const netfilter = lazyNetfilter(syscalls);
  const recorded = allRecordedRules(call).filter(({ attachment }) => !isAmong(valid, attachment));
  const node = new NetlinkSocket(syscalls);
  for (const { index, alias, attachment } of attachedLinks(node, network)) {
    if (validAliases.includes(alias)) continue;
    errors.collect(() => deleteIfPresent(node, index));
    if (recorded.some((one) => hostInterfaceAlias(one.attachment) === alias)) continue;
    removeUnrecordedRules(call, netfilter, attachment, BY_NAME, errors);
  }
  for (const one of recorded) errors.collect(() => removeRecordedRules(call, netfilter(), one));
  errors.collect(() => {
    if (!config.boolean("ipMasq")) return;
    errors.collect(() => collectIptablesMasquerade(syscalls, network, valid));
    unlessFeatureIsMissing(() => collectNftMasquerade(syscalls, netfilter(), network, valid), warn);
  });
}

/** The network's interfaces on the node. */
function attachedLinks(
  node: NetlinkSocket,
  network: string,
): { index: number; alias: string; attachment: Attachment }[] {
  const messages = node.run(dumpLinks(node.batch())).flatMap((answer) => answer.messages);
  return messages.flatMap((message) => {
    const link = readLink(message);
    const attachment = link.kind === "veth" ? attachmentOfAlias(link.alias, network) : undefined;
    return attachment === undefined ? [] : [{ index: link.index, alias: link.alias, attachment }];
  });
}

/** Of the network's attachments. */
function allRecordedRules({ syscalls, request }: Call): RecordedRules[] {
  return readObjects(syscalls, RULE_RECORD_DIRECTORY).flatMap(({ file, content }) => {
    const { network, containerId, ifname } = content;
    if (network !== request.network || typeof containerId !== "string" || typeof ifname !== "string") return [];
    const portName = file.slice(RULE_RECORD_DIRECTORY.length + 1, -".json".length);
    const attachment = { network, containerId, ifname };
    const rules = readRuleRecord(syscalls, portName, attachment);
    return rules === undefined ? [] : [{ portName, attachment, rules }];
  });
}
