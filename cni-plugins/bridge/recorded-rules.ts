/** Rules that a rule record tells of: ADD writes it when it has made them, DEL and GC remove them by it. */

import type { Call } from "../cni/plugin.ts";
import { errnoOf, type NetlinkSocket } from "../netlink/netlink-socket.ts";
import { type AddState, required } from "./add-state.ts";
import type { Attachment } from "./attachment.ts";
import { loadMore } from "./parts.ts";
import { type RuleRecord, removeRuleRecord, saveRuleRecord } from "./rule-record.ts";

/** DEL finds rules without the record too, by a search. */
export function recordRules(state: AddState, rules: RuleRecord): void {
  state.rules = { ...state.rules, ...rules };
  try {
    saveRuleRecord(state.call.syscalls, required(state.portName, "the veth pair"), state.attachment, state.rules);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    state.call.warn(
      `the record of rules can't be written, so DEL will take longer: ${error instanceof Error ? error.message : error}`,
    );
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
  if (spoofRule !== undefined) loadMore(syscalls).removeSpoofCheck(netfilter, attachment, spoofRule);
  if (masqueradeRules !== undefined) {
    loadMore(syscalls).removeNftMasquerade(syscalls, netfilter, attachment, masqueradeRules);
  }
  if (iptables === true) loadMore(syscalls).removeIptablesMasquerade(syscalls, attachment);
  removeRuleRecord(syscalls, portName);
}
