/** Rules without a rule record: another implementation's, or of an attachment whose record was lost. */

import type { Call } from "../cni/plugin.ts";
import type { Attachment } from "./attachment.ts";
import type { ErrorCollector } from "./error-collector.ts";
import { removeIptablesMasquerade } from "./masquerade-iptables.ts";
import { removeNftMasquerade } from "./masquerade-nftables.ts";
import { type LazyNetfilter, unlessFeatureIsMissing } from "./netfilter.ts";
import { removeNamedSpoofCheck, removeSpoofCheck } from "./spoof-check.ts";

/** What to look for. `true`: a key of the configuration asks for it. */
export interface Search {
  readonly spoofCheck: boolean;
  readonly masquerade: boolean;
  /** Also what no key asks for, if that is cheap: the configuration of the ADD is not known. */
  readonly unasked: boolean;
}

/**
 * Looks for the attachment's names (docs/decisions/025). Two searches are expensive and only made if a key asks for them:
 * chains of a spoof check without rules, which needs a list of all rules, and the node's iptables.
 */
export function removeUnrecordedRules(
  { syscalls, warn }: Call,
  netfilter: LazyNetfilter,
  attachment: Attachment,
  { spoofCheck, masquerade, unasked }: Search,
  errors: ErrorCollector,
): void {
  const attempt = (isAsked: boolean, action: () => void) =>
    errors.collect(() => unlessFeatureIsMissing(action, isAsked ? warn : undefined));
  if (spoofCheck || unasked) {
    attempt(spoofCheck, () => {
      if (spoofCheck) removeSpoofCheck(netfilter(), attachment, undefined);
      else removeNamedSpoofCheck(netfilter(), attachment);
    });
  }
  if (masquerade) {
    attempt(true, () => removeIptablesMasquerade(syscalls, attachment));
  }
  if (masquerade || unasked) {
    attempt(masquerade, () => removeNftMasquerade(syscalls, netfilter(), attachment, undefined));
  }
}
