/**
 * Deletes ports together with those that other DELs delete at the same time. While the kernel deletes a link it waits
 * several times for all processors and keeps everybody else from all links; for the links of one group it does so once.
 */

import type { Host } from "../host/host.ts";
import { deleteLinkGroup, type Link, setLinkGroup } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { deleteIfPresent } from "./bridge-steps.ts";

/** A link in this group has been proven to be a DEL's: any DEL may delete it. "cnid", that nobody else chooses by chance. */
export const DELETED_TOGETHER = 0x636e6964;

/** Who waited longer for the kernel than this isn't alone. */
const ALONE_MS = 0.5;

/** Of the time waited, for the others who waited to put their links into the group. */
const GATHERING_SHARE = 0.25;
const GATHERING_MAX_MS = 10;

/** Finds the ports and deletes them; another DEL may be faster. */
export function deletePorts(
  host: Host,
  node: NetlinkSocket,
  find: () => readonly Pick<Link, "index" | "name">[],
): void {
  const startMs = host.monotonicMs();
  const ports = find();
  if (ports.length === 0) return;
  const marks = node.batch();
  for (const { index } of ports) setLinkGroup(marks, index, DELETED_TOGETHER);
  const marked = node.transact(marks).some(({ error }) => error === undefined);
  const waitedMs = host.monotonicMs() - startMs;
  if (waitedMs > ALONE_MS) host.poll([], Math.ceil(Math.min(waitedMs * GATHERING_SHARE, GATHERING_MAX_MS)));
  const isThere = ({ name }: Pick<Link, "name">) => node.mayHave(name);
  if (marked && ports.some(isThere)) node.transact(deleteLinkGroup(node.batch(), DELETED_TOGETHER));
  // For a kernel that refused the group.
  for (const { index } of ports.filter(isThere)) deleteIfPresent(node, index);
}
