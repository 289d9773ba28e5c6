/** Rules that no record tells of: another implementation's, or those of an attachment whose records were lost. */

import { errnoOf } from "../netlink/netlink-socket.ts";
import type { Call } from "../protocol/plugin.ts";
import type { Attachment } from "./attachment.ts";
import { isFeatureMissing, openNetfilter } from "./netfilter.ts";
import { load } from "./parts.ts";

/**
 * Looks for them by the attachment's names. The node's iptables are not asked: that takes longer than all of a DEL, and
 * most attachments have none.
 */
export function removeUnrecordedRules({ host }: Call, attachment: Attachment): void {
  const { removeNamedSpoofCheck } = load(host, "spoof-check");
  const { removeNftMasquerade } = load(host, "masquerade-nftables");
  unlessFeatureIsMissing(() => removeNamedSpoofCheck(openNetfilter(host), attachment));
  unlessFeatureIsMissing(() => removeNftMasquerade(host, openNetfilter(host), attachment, undefined));
}

/** A kernel without the feature has no rules of it. */
function unlessFeatureIsMissing(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!isFeatureMissing(errnoOf(error))) throw error;
  }
}
