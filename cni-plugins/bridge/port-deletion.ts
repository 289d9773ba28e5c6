/**
 * Deletes ports together with those that other DELs delete at the same time. While the kernel deletes a link it waits
 * several times for all processors and keeps everybody else from all links; for the links of one group it does so once.
 */

import { deleteLink, deleteLinkGroup, type Link, setLinkGroup } from "../netlink/link.ts";
import { deleteEarly, type Place } from "./link-deletion.ts";

/** A link in this group has been proven to be a DEL's: any DEL may delete it. "cnid", that nobody else chooses by chance. */
export const DELETED_TOGETHER = 0x636e6964;

/** Who waited longer for the kernel than this isn't alone. */
const ALONE_MS = 0.5;

/** Of the time waited, for the others who waited to put their links into the group. */
const GATHERING_SHARE = 0.25;
const GATHERING_MAX_MS = 10;

/** Finds the ports and deletes them; another DEL may be faster. */
export function deletePorts(place: Place, find: () => readonly Pick<Link, "index" | "name">[]): void {
  const { host, socket } = place;
  const startMs = host.monotonicMs();
  const ports = find();
  if (ports.length === 0) return;
  const marks = socket.batch();
  for (const { index } of ports) setLinkGroup(marks, index, DELETED_TOGETHER);
  const marked = socket.transact(marks).every(({ error }) => error === undefined);
  const waitedMs = host.monotonicMs() - startMs;
  if (waitedMs > ALONE_MS) host.poll([], Math.ceil(Math.min(waitedMs * GATHERING_SHARE, GATHERING_MAX_MS)));
  for (const { index, name } of ports) {
    if (!socket.mayHave(name)) continue;
    const batch = socket.batch();
    deleteEarly(place, index, marked ? deleteLinkGroup(batch, DELETED_TOGETHER) : deleteLink(batch, index));
  }
}
