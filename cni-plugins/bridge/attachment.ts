/** Which veth pair belongs to which attachment: recomputed by DEL, so nothing has to be remembered. */

import { IFALIAS_MAX_BYTES } from "../netlink/rtnetlink.ts";

export interface Attachment {
  readonly network: string;
  readonly containerId: string;
  readonly ifname: string;
}

/** Two attachments of one node share a 32-bit hash once in ten thousand nodes; the second one takes the next name. */
export const HOST_NAME_CANDIDATES = 4;

/** `veth` and 8 hexadecimal digits, the same for the same attachment and candidate number. */
export function hostInterfaceName(attachment: Attachment, candidate = 0): string {
  const text = `${candidate}/${attachmentKey(attachment)}`;
  return `veth${fnv1a(text).toString(16).padStart(8, "0")}`;
}

const ALIAS_PREFIX = "cni-bridge:";

/**
 * The host interface's alias: proof that it is this attachment's, readable in `ip link`. The network's name is replaced
 * by its hash when the alias would be too long for the kernel.
 */
export function hostInterfaceAlias(attachment: Attachment): string {
  const alias = ALIAS_PREFIX + attachmentKey(attachment);
  if (alias.length <= IFALIAS_MAX_BYTES) return alias;
  return ALIAS_PREFIX + attachmentKey({ ...attachment, network: hashedNetwork(attachment.network) });
}

/** The attachment an alias names, if it is one of ours on this network. */
export function attachmentOfAlias(alias: string, network: string): Attachment | undefined {
  if (!alias.startsWith(ALIAS_PREFIX)) return undefined;
  const [named, containerId, ifname] = alias.slice(ALIAS_PREFIX.length).split("/");
  if (containerId === undefined || ifname === undefined) return undefined;
  return named === network || named === hashedNetwork(network) ? { network, containerId, ifname } : undefined;
}

/** None of the three parts may contain a slash. */
function attachmentKey({ network, containerId, ifname }: Attachment): string {
  return `${network}/${containerId}/${ifname}`;
}

/** Begins with a character that no network name has. */
function hashedNetwork(network: string): string {
  return `~${fnv1a(network).toString(16).padStart(8, "0")}`;
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
