/** Rules that no record tells of: another implementation's, or those of an attachment whose records were lost. */

import type { Call } from "../protocol/plugin.ts";
import type { Attachment } from "./attachment.ts";
import type { Faults } from "./faults.ts";
import { type LazyNetfilter, unlessFeatureIsMissing } from "./netfilter.ts";
import { load } from "./parts.ts";

/** What is to be looked for. A key of a configuration asks by `true`. */
export interface Search {
  readonly spoofCheck: boolean;
  readonly masquerade: boolean;
  /** Also what no key asks for, where that is cheap: no configuration is known to be the ADD's. */
  readonly unasked: boolean;
}

/**
 * Looks by the attachment's names. What is left of a spoof check, such as chains without rules, is found only where a key
 * asks for it: that goes through the rules of all attachments. The node's iptables too are asked only then: that takes
 * longer than all of a DEL, and most attachments have none.
 */
export function removeUnrecordedRules(
  { host, warn }: Call,
  netfilter: LazyNetfilter,
  attachment: Attachment,
  { spoofCheck, masquerade, unasked }: Search,
  faults: Faults,
): void {
  const attempt = (isAsked: boolean, action: () => void) =>
    faults.attempt(() => unlessFeatureIsMissing(action, isAsked ? warn : undefined));
  if (spoofCheck || unasked) {
    const { removeSpoofCheck, removeNamedSpoofCheck } = load(host, "spoof-check");
    attempt(spoofCheck, () => {
      if (spoofCheck) removeSpoofCheck(netfilter(), attachment, undefined);
      else removeNamedSpoofCheck(netfilter(), attachment);
    });
  }
  if (masquerade) {
    attempt(true, () => load(host, "masquerade-iptables").removeIptablesMasquerade(host, attachment));
  }
  if (masquerade || unasked) {
    attempt(masquerade, () =>
      load(host, "masquerade-nftables").removeNftMasquerade(host, netfilter(), attachment, undefined),
    );
  }
}
