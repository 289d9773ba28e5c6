/**
 * DEL: removes the attachment's veth pair. It needs neither the namespace nor the ADD's result nor its configuration,
 * and says success when there is nothing (left) to remove.
 */

import { ENODEV } from "../netlink/errno.ts";
import { deleteLink, getLink, linkOf } from "../netlink/link.ts";
import { NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Call } from "../protocol/plugin.ts";
import { type Attachment, HOST_NAME_CANDIDATES, hostInterfaceAlias, hostInterfaceName } from "./attachment.ts";
import { deleteIfPresent } from "./bridge-steps.ts";
import { unsupportedKeys } from "./config.ts";
import { openNetnsIfPresent } from "./netns.ts";

export function del(call: Call): undefined {
  const { host, request } = call;
  warnAboutLeftovers(call);
  // First of all, because a namespace that is the plugin's own must leave everything untouched.
  const netns = openNetnsIfPresent(host, request);
  deletePair(new NetlinkSocket(host), request);
  if (netns === undefined) return;
  // What another implementation made, or what a guest's network setup put under the name since.
  const [answer] = netns.socket.transact(deleteLink(netns.socket.batch(), request.ifname));
  if (answer?.error !== undefined && answer.error.errno !== ENODEV) throw answer.error;
}

/** Deleting the node's end deletes the other one, wherever it is and however it is called now. */
function deletePair(node: NetlinkSocket, attachment: Attachment): void {
  const alias = hostInterfaceAlias(attachment);
  const batch = node.batch();
  for (let candidate = 0; candidate < HOST_NAME_CANDIDATES; candidate++) {
    getLink(batch, hostInterfaceName(attachment, candidate));
  }
  for (const answer of node.transact(batch)) {
    const link = linkOf(answer);
    if (link?.kind === "veth" && link.alias === alias) deleteIfPresent(node, link.index);
  }
}

/** Today's configuration may have nothing to do with the ADD's: whatever is wrong with it, the attachment goes. */
function warnAboutLeftovers({ request, warn }: Call): void {
  try {
    const keys = unsupportedKeys(request.config);
    if (keys.length > 0) warn(`${keys.join(", ")}: what another plugin made for it is not removed by this version`);
  } catch (error) {
    warn(`${error instanceof Error ? error.message : error}`);
  }
}
