/** The step of an ADD that masquerades, by iptables or nftables. */

import type { Step } from "../cni/steps.ts";
import { type AddState, addressingOf, required } from "./add-state.ts";
import type { MasqueradeBackend } from "./config.ts";
import { addIptablesMasquerade, hasIptables, removeIptablesMasquerade } from "./masquerade-iptables.ts";
import { addNftMasquerade, removeNftMasquerade } from "./masquerade-nftables.ts";
import { withFeature } from "./netfilter.ts";
import { readRuleRecord, recordRules, removeRuleRecord } from "./rule-record.ts";

/** A transaction is sent as a whole, and answered with each of its rules. */
const ADDRESSES_AT_ONCE = 32;

export const masqueradeAddresses: Step<AddState> = {
  name: "masquerade the container's addresses",
  apply(state) {
    const { attachment, call } = state;
    const addresses = required(state.addresses, "the addresses").ips.map(({ address }) => address);
    if (backendOf(state) === "iptables") {
      recordRules(state, { iptables: true });
      addIptablesMasquerade(call.syscalls, attachment, addresses);
      return;
    }
    for (let at = 0; at < addresses.length; at += ADDRESSES_AT_ONCE) {
      const before = state.rules.masqueradeRules ?? rulesBefore(state);
      const portion = addresses.slice(at, at + ADDRESSES_AT_ONCE);
      const handles = withFeature("ipMasq", "CONFIG_NF_TABLES_INET and CONFIG_NFT_MASQ", () =>
        addNftMasquerade(call.syscalls, state.netfilter(), attachment, portion),
      );
      recordRules(state, { masqueradeRules: [...before, ...handles] });
    }
  },
  undo(state) {
    const { masqueradeRules, iptables } = state.rules;
    const { syscalls } = state.call;
    if (iptables === true) removeIptablesMasquerade(syscalls, state.attachment);
    if (masqueradeRules !== undefined) {
      removeNftMasquerade(syscalls, state.netfilter(), state.attachment, masqueradeRules);
    }
    if (state.portName !== undefined) removeRuleRecord(syscalls, state.portName);
  },
};

/** Rules of an earlier ADD without a DEL. */
function rulesBefore({ call, portName, attachment }: AddState): readonly number[] {
  return readRuleRecord(call.syscalls, required(portName, "the veth pair"), attachment)?.masqueradeRules ?? [];
}

function backendOf(state: AddState): MasqueradeBackend {
  const { masqueradeBackend } = addressingOf(state);
  if (masqueradeBackend !== undefined) return masqueradeBackend;
  const { syscalls } = state.call;
  return hasIptables(syscalls) ? "iptables" : "nftables";
}
