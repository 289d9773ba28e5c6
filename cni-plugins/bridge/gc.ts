/** GC: removes attachments of this network that the runtime does not know any more. */

import { dumpLinks, readLink } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { runDelegate } from "../protocol/delegate.ts";
import type { Call } from "../protocol/plugin.ts";
import { validAttachments } from "../protocol/request.ts";
import { forgetUnlisted, readObjects } from "../protocol/unlisted-records.ts";
import { type Attachment, attachmentOfAlias } from "./attachment.ts";
import { RECORD_DIRECTORY, readRecord } from "./attachment-record.ts";
import { deleteIfPresent } from "./bridge-steps.ts";
import { removeRecorded, tolerant } from "./del.ts";
import { collectNftMasquerade } from "./masquerade-nftables.ts";
import { openNetfilter } from "./netfilter.ts";

export function gc(call: Call): undefined {
  const { host, request } = call;
  const { network, config } = request;
  const valid = validAttachments(config).map((one): Attachment => ({ network, ...one }));
  const isValid = (one: Pick<Attachment, "containerId" | "ifname">) =>
    valid.some(({ containerId, ifname }) => containerId === one.containerId && ifname === one.ifname);
  const node = new NetlinkSocket(host);
  for (const answer of node.run(dumpLinks(node.batch()))) {
    for (const message of answer.messages) {
      const link = readLink(message);
      const ours = link.kind === "veth" ? attachmentOfAlias(link.alias, network) : undefined;
      if (ours !== undefined && !isValid(ours)) deleteIfPresent(node, link.index);
    }
  }
  let netfilter: NetlinkSocket | undefined;
  for (const { portName, attachment } of recordedAttachments(call)) {
    const record = isValid(attachment) ? undefined : readRecord(host, portName, attachment);
    if (record === undefined) continue;
    netfilter ??= openNetfilter(host);
    removeRecorded(call, netfilter, { portName, attachment, record });
  }
  if (config.boolean("ipMasq")) {
    tolerant(call, () => collectNftMasquerade(host, openNetfilter(host), network, valid));
  }
  const ipam = config.object("ipam").string("type") ?? "";
  if (ipam !== "") runDelegate({ host, request, type: ipam }, "GC");
  forgetUnlisted(call, "bridge", isValid);
}

/** Those of the network that have a record. */
function recordedAttachments({ host, request }: Call): { portName: string; attachment: Attachment }[] {
  return readObjects(host, RECORD_DIRECTORY).flatMap(({ file, content }) => {
    const { network, containerId, ifname } = content;
    if (network !== request.network || typeof containerId !== "string" || typeof ifname !== "string") return [];
    const portName = file.slice(RECORD_DIRECTORY.length + 1, -".json".length);
    return [{ portName, attachment: { network, containerId, ifname } }];
  });
}
