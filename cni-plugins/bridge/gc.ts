/** GC: removes attachments of this network that the runtime does not know any more. */

import { dumpLinks, readLink } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Call } from "../protocol/plugin.ts";
import { validAttachments } from "../protocol/request.ts";
import { attachmentOfAlias } from "./attachment.ts";
import { deleteIfPresent } from "./bridge-steps.ts";

export function gc({ host, request }: Call): undefined {
  const valid = validAttachments(request.config);
  const node = new NetlinkSocket(host);
  for (const answer of node.run(dumpLinks(node.batch()))) {
    for (const message of answer.messages) {
      const link = readLink(message);
      const ours = link.kind === "veth" ? attachmentOfAlias(link.alias, request.network) : undefined;
      if (ours === undefined) continue;
      const known = valid.some((one) => one.containerId === ours.containerId && one.ifname === ours.ifname);
      if (!known) deleteIfPresent(node, link.index);
    }
  }
}
