/** Names of the veth pair of an attachment. DEL computes them again, so nothing has to be stored. */

import { PORT_ALIAS_PREFIX } from "../../src/api/node-state.ts";
import { IFALIAS_MAX_BYTES } from "../netlink/rtnetlink.ts";

export interface Attachment {
  readonly network: string;
  readonly containerId: string;
  readonly ifname: string;
}

/** On one node in ten thousand, two attachments have the same 32-bit hash; the second one takes the next name. */
export const HOST_NAME_CANDIDATES = 4;

/** `veth` and 8 hexadecimal digits, the same for the same attachment and candidate number. */
export function hostInterfaceName(attachment: Attachment, candidate = 0): string {
  const text = `${candidate}/${attachmentKey(attachment)}`;
  return `veth${fnv1a(text).toString(16).padStart(8, "0")}`;
}

const ID_CHARACTERS_KEPT = 128;

/**
 * The port's alias. It proves that the port is this attachment's, and `ip link` shows it. A network's name that makes the
 * alias too long for the kernel is replaced by its hash; so is the end of the container's id where that is not enough.
 */
export function hostInterfaceAlias(attachment: Attachment): string {
  const alias = PORT_ALIAS_PREFIX + attachmentKey(attachment);
  if (alias.length <= IFALIAS_MAX_BYTES) return alias;
  const { containerId, ifname } = attachment;
  const network = hashed(attachment.network);
  const shorter = PORT_ALIAS_PREFIX + attachmentKey({ network, containerId, ifname });
  if (shorter.length <= IFALIAS_MAX_BYTES) return shorter;
  const id = containerId.slice(0, ID_CHARACTERS_KEPT) + hashed(containerId);
  return PORT_ALIAS_PREFIX + attachmentKey({ network, containerId: id, ifname });
}

/** The attachment an alias names, if it is one of ours on this network; a very long id as it stands there. */
export function attachmentOfAlias(alias: string, network: string): Attachment | undefined {
  if (!alias.startsWith(PORT_ALIAS_PREFIX)) return undefined;
  const [named, containerId, ifname] = alias.slice(PORT_ALIAS_PREFIX.length).split("/");
  if (containerId === undefined || ifname === undefined) return undefined;
  return named === network || named === hashed(network) ? { network, containerId, ifname } : undefined;
}

/** Whether the alias names another container or interface. The name of a network may change while attachments last. */
export function isAliasOfAnother(alias: string, attachment: Attachment): boolean {
  const withoutNetwork = (text: string) => text.slice(text.indexOf("/"));
  return (
    alias.startsWith(PORT_ALIAS_PREFIX) && withoutNetwork(alias) !== withoutNetwork(hostInterfaceAlias(attachment))
  );
}

/** None of the three parts may contain a slash. */
function attachmentKey({ network, containerId, ifname }: Attachment): string {
  return `${network}/${containerId}/${ifname}`;
}

/** Begins with a character that no network's name and no container's id has. */
function hashed(text: string): string {
  return `~${fnv1a(text).toString(16).padStart(8, "0")}`;
}

/** FNV-1a, 32 bits, over the low byte of each character, with a final mix that spreads similar inputs. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  const { imul } = Math;
  for (let i = 0; i < text.length; i++) hash = imul(hash ^ (text.charCodeAt(i) & 0xff), 0x01000193);
  hash = imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Whether a parsed record is about the attachment. */
export function sameAttachment(record: Readonly<Record<string, unknown>>, attachment: Attachment): boolean {
  const { network, containerId, ifname } = record;
  return network === attachment.network && containerId === attachment.containerId && ifname === attachment.ifname;
}
