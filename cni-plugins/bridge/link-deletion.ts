/**
 * Deletes a link and is done when the kernel has taken it out: nobody finds it any more, by name or by index. A child
 * process waits for what the kernel cleans up after that (docs/decisions/019).
 */

import type { Host } from "../host/host.ts";
import { deleteLink } from "../netlink/link.ts";
import type { MessageBatch } from "../netlink/message-batch.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { deleteIfPresent } from "./bridge-steps.ts";

/** The network namespace that a link is deleted from. */
export interface Place {
  readonly host: Host;
  /** Descriptor of the namespace, or OWN_NETNS. */
  readonly netns: number;
  /** Of that namespace. */
  readonly socket: NetlinkSocket;
  /** That the kernel is slow to close: the child process closes it last. */
  readonly netfilter?: NetlinkSocket | undefined;
}

/**
 * `request` deletes the link, by its index or together with others, so that a child that is late never takes one of the
 * same name that was made since. Throws what the kernel answers when it did not delete the link; one that is gone already
 * is no error.
 */
export function deleteEarly(
  place: Place,
  index: number,
  request: MessageBatch = deleteLink(place.socket.batch(), index),
): void {
  if (!isTakenOut(place, index, request)) deleteIfPresent(place.socket, index);
}

/** False when it is not known whether it is there: the child could not be started, or ended without an announcement. */
function isTakenOut({ host, netns, socket, netfilter }: Place, index: number, request: MessageBatch): boolean {
  const waitedFor: number[] = [];
  try {
    waitedFor.push(host.watchLinkDeletion(netns, index));
    waitedFor.push(socket.sendByChild(request, netfilter === undefined ? [] : [netfilter]));
    for (;;) {
      const [announced = 0, childEnded = 0] = host.poll(waitedFor, -1);
      if (announced !== 0 || childEnded !== 0) return announced !== 0;
    }
  } catch {
    return false;
  } finally {
    for (const fd of waitedFor) host.close(fd);
  }
}
