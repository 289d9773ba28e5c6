/**
 * Deletes ports in one group with those of concurrent DELs (docs/decisions/017). For each deletion the kernel waits several
 * times for all processors, and all other requests about links wait; for a whole group it does so once.
 */

import type { Syscalls } from "../native/syscalls.ts";
import { deleteLinkGroup, type Link, setLinkGroup } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { deleteIfPresent } from "./bridge-steps.ts";

/** A DEL has proven that it may delete the links of this group, so any DEL may. "cnid": nobody else uses it by chance. */
export const DELETED_TOGETHER = 0x636e6964;

/** A DEL that waited longer for the kernel is not alone. On a slow machine a DEL that is alone needs up to 1 ms here. */
const ALONE_MS = 2;

/** How much of that time it waits again, so that others can join the group. */
const GATHERING_SHARE = 0.25;
const GATHERING_MAX_MS = 10;

/** Finds the ports and deletes them; another DEL may be faster. */
export function deletePorts(
  syscalls: Syscalls,
  node: NetlinkSocket,
  find: () => readonly Pick<Link, "index" | "name">[],
): void {
  const startMs = syscalls.monotonicMs();
  const ports = find();
  if (ports.length === 0) return;
  const marks = node.batch();
  for (const { index } of ports) setLinkGroup(marks, index, DELETED_TOGETHER);
  const marked = node.transact(marks).every(({ error }) => error === undefined);
  const waitedMs = syscalls.monotonicMs() - startMs;
  if (waitedMs > ALONE_MS) syscalls.poll([], Math.ceil(Math.min(waitedMs * GATHERING_SHARE, GATHERING_MAX_MS)));
  const isThere = ({ name }: Pick<Link, "name">) => node.mightExist(name);
  if (marked && ports.some(isThere)) node.transact(deleteLinkGroup(node.batch(), DELETED_TOGETHER));
  // For a kernel that refused the group.
  for (const { index } of ports.filter(isThere)) deleteIfPresent(node, index);
}
