/**
 * A small file about an attachment: what DEL can't recompute, so that it costs the same however many there are. It is a
 * hint: DEL proves it before use and works without it.
 */

import { type Host, OWN_NETNS } from "../host/host.ts";
import { parseObject } from "../protocol/json-object.ts";
import type { Attachment } from "./attachment.ts";
import { sameAttachment } from "./attachment.ts";

export interface AttachmentRecord {
  /** Handle of the rule that sends the port's frames to its spoof check. */
  readonly spoofRule?: number;
  /** Handles of the nftables rules that masquerade. */
  readonly masqueradeRules?: readonly number[];
  /** The node's iptables masquerades. */
  readonly iptables?: boolean;
}

export const RECORD_DIRECTORY = "/run/cni/cluster-network-addons/bridge";

/** Named by the node's end of the pair, which is one attachment's at a time. */
export function saveRecord(host: Host, portName: string, attachment: Attachment, record: AttachmentRecord): void {
  host.replaceFile(recordPath(portName), JSON.stringify({ ...attachment, ...record }));
}

/** Undefined when there is none, or none of this attachment. */
export function readRecord(host: Host, portName: string, attachment: Attachment): AttachmentRecord | undefined {
  const path = recordPath(portName);
  if (!host.exists(path)) return undefined;
  const parsed = parseObject(() => host.readFile(OWN_NETNS, path));
  if (parsed === undefined || !sameAttachment(parsed, attachment)) return undefined;
  const { spoofRule, masqueradeRules, iptables } = parsed;
  return {
    ...(typeof spoofRule === "number" ? { spoofRule } : {}),
    ...(Array.isArray(masqueradeRules)
      ? { masqueradeRules: masqueradeRules.filter((one) => typeof one === "number") }
      : {}),
    ...(iptables === true ? { iptables } : {}),
  };
}

/** There may be none. */
export function removeRecord(host: Host, portName: string): void {
  try {
    host.removeFile(recordPath(portName));
  } catch {
    // A record that stays is found to be another attachment's or stale.
  }
}

/** What an ADD that was killed had begun to write; a whole record under the name is somebody else's. */
export function removeHalfWrittenRecord(host: Host, portName: string): void {
  try {
    host.readFile(OWN_NETNS, recordPath(portName));
  } catch {
    removeRecord(host, portName);
  }
}

function recordPath(portName: string): string {
  return `${RECORD_DIRECTORY}/${portName}.json`;
}
