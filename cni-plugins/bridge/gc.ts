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
import { type Recorded, removeRecorded } from "./del.ts";
import { Faults } from "./faults.ts";
import { collectNftMasquerade } from "./masquerade-nftables.ts";
import { lazyNetfilter, unlessFeatureIsMissing } from "./netfilter.ts";
import { removeUnrecordedRules } from "./unrecorded-rules.ts";

const BY_NAME = { spoofCheck: false, masquerade: false, unasked: true };

/** Goes on after a failure, and throws the first one at the end: what is left goes with the next call. */
export function gc(call: Call): undefined {
  const { host, request, warn } = call;
  const { network, config } = request;
  const valid = validAttachments(config).map((one): Attachment => ({ network, ...one }));
  const isValid = (one: Pick<Attachment, "containerId" | "ifname">) => valid.some((other) => isSame(one, other));
  const faults = new Faults();
  const netfilter = lazyNetfilter(host);
  const recorded = recordedAttachments(call).filter(({ attachment }) => !isValid(attachment));
  const node = new NetlinkSocket(host);
  for (const { index, attachment } of attachedLinks(node, network)) {
    if (isValid(attachment)) continue;
    faults.attempt(() => deleteIfPresent(node, index));
    if (recorded.some((one) => isSame(one.attachment, attachment))) continue;
    removeUnrecordedRules(call, netfilter, attachment, BY_NAME, faults);
  }
  for (const one of recorded) faults.attempt(() => removeRecorded(call, netfilter(), one));
  faults.attempt(() => {
    if (!config.boolean("ipMasq")) return;
    unlessFeatureIsMissing(() => collectNftMasquerade(host, netfilter(), network, valid), warn);
  });
  faults.attempt(() => {
    const ipam = config.object("ipam").string("type") ?? "";
    if (ipam !== "") runDelegate({ host, request, type: ipam }, "GC");
  });
  faults.throwFirst();
  forgetUnlisted(call, "bridge", isValid);
}

function isSame(one: Pick<Attachment, "containerId" | "ifname">, other: Attachment): boolean {
  return one.containerId === other.containerId && one.ifname === other.ifname;
}

/** The network's interfaces on the node. */
function attachedLinks(node: NetlinkSocket, network: string): { index: number; attachment: Attachment }[] {
  const messages = node.run(dumpLinks(node.batch())).flatMap((answer) => answer.messages);
  return messages.flatMap((message) => {
    const link = readLink(message);
    const attachment = link.kind === "veth" ? attachmentOfAlias(link.alias, network) : undefined;
    return attachment === undefined ? [] : [{ index: link.index, attachment }];
  });
}

/** Those of the network that have a record of their rules. */
function recordedAttachments({ host, request }: Call): Recorded[] {
  return readObjects(host, RECORD_DIRECTORY).flatMap(({ file, content }) => {
    const { network, containerId, ifname } = content;
    if (network !== request.network || typeof containerId !== "string" || typeof ifname !== "string") return [];
    const portName = file.slice(RECORD_DIRECTORY.length + 1, -".json".length);
    const attachment = { network, containerId, ifname };
    const record = readRecord(host, portName, attachment);
    return record === undefined ? [] : [{ portName, attachment, record }];
  });
}
