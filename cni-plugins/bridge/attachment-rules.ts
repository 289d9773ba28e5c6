/**
 * The rules of an attachment. The rule record is a small file with their handles, so that DEL costs the same however many
 * attachments have rules. It is a hint: DEL proves it before use, and searches where there is none.
 */

import { NODE_STATE_DIRECTORY } from "../../src/api/node-state.ts";
import { parseObject } from "../cni/json-object.ts";
import type { Call } from "../cni/plugin.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { errnoOf, type NetlinkSocket } from "../netlink/netlink-socket.ts";
import { type Attachment, sameAttachment } from "./attachment.ts";
import type { ErrorCollector } from "./error-collector.ts";
import { removeIptablesMasquerade } from "./masquerade-iptables.ts";
import { removeNftMasquerade } from "./masquerade-nftables.ts";
import { type LazyNetfilter, unlessFeatureIsMissing } from "./netfilter.ts";
import { removeNamedSpoofCheck, removeSpoofCheck } from "./spoof-check.ts";

export interface RuleRecord {
  /** Handle of the rule that sends the port's frames to its spoof check. */
  readonly spoofRule?: number;
  /** Handles of the nftables rules that masquerade. */
  readonly masqueradeRules?: readonly number[];
  /** The node's iptables masquerades. */
  readonly iptables?: boolean;
}

export const RULE_RECORD_DIRECTORY = `${NODE_STATE_DIRECTORY}/bridge`;

/**
 * The file is named by the node's end of the pair, which is one attachment's at a time. DEL finds rules without the record
 * too, by a search.
 */
export function recordRules({ syscalls, warn }: Call, { portName, attachment, rules }: RecordedRules): void {
  try {
    syscalls.replaceFile(recordPath(portName), JSON.stringify({ ...attachment, ...rules }));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    warn(
      `the record of rules can't be written, so DEL will take longer: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** Undefined when there is none, or none of this attachment. */
export function readRuleRecord(syscalls: Syscalls, portName: string, attachment: Attachment): RuleRecord | undefined {
  const path = recordPath(portName);
  if (!syscalls.exists(path)) return undefined;
  const parsed = parseObject(() => syscalls.readFile(OWN_NETNS, path));
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
export function removeRuleRecord(syscalls: Syscalls, portName: string): void {
  try {
    syscalls.removeFile(recordPath(portName));
  } catch {
    // A record that stays is found to be another attachment's or stale.
  }
}

/** Removes a record that a killed ADD began to write. A whole record under the name is another attachment's. */
export function removeHalfWrittenRuleRecord(syscalls: Syscalls, portName: string): void {
  try {
    syscalls.readFile(OWN_NETNS, recordPath(portName));
  } catch {
    removeRuleRecord(syscalls, portName);
  }
}

export interface RecordedRules {
  readonly portName: string;
  readonly attachment: Attachment;
  readonly rules: RuleRecord;
}

/**
 * Removes the record too. `netfilter` is best left open until the process ends: the kernel closes it only when it has
 * forgotten the rules.
 */
export function removeRecordedRules({ syscalls }: Call, netfilter: NetlinkSocket, recorded: RecordedRules): void {
  const { portName, attachment, rules } = recorded;
  const { spoofRule, masqueradeRules, iptables } = rules;
  if (spoofRule !== undefined) removeSpoofCheck(netfilter, attachment, spoofRule);
  if (masqueradeRules !== undefined) {
    removeNftMasquerade(syscalls, netfilter, attachment, masqueradeRules);
  }
  if (iptables === true) removeIptablesMasquerade(syscalls, attachment);
  removeRuleRecord(syscalls, portName);
}

/** What to look for. `true`: a key of the configuration asks for it. */
export interface Search {
  readonly spoofCheck: boolean;
  readonly masquerade: boolean;
  /** Also what no key asks for, if that is cheap: the configuration of the ADD is not known. */
  readonly unasked: boolean;
}

/**
 * Removes rules without a rule record: another implementation's, or of an attachment whose record was lost. Looks for the
 * attachment's names (docs/decisions/025). Two searches are expensive and only made if a key asks for them:
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

function recordPath(portName: string): string {
  return `${RULE_RECORD_DIRECTORY}/${portName}.json`;
}
