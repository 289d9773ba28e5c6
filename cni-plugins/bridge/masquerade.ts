/** Masquerades a container's addresses, by iptables or nftables. */

import type { Addition } from "./add.ts";
import type { Addresses } from "./addresses.ts";
import { type RuleRecord, readRuleRecord, recordRules, removeRuleRecord } from "./attachment-rules.ts";
import type { AddressingConfig } from "./config.ts";
import { addIptablesMasquerade, hasIptables, removeIptablesMasquerade } from "./masquerade-iptables.ts";
import { addNftMasquerade, removeNftMasquerade } from "./masquerade-nftables.ts";
import { withFeature } from "./netfilter.ts";
import type { Pair } from "./veth-pair.ts";

/** A transaction is sent as a whole, and answered with each of its rules. */
const ADDRESSES_AT_ONCE = 32;

/** `rules`: those of the attachment that are recorded already. */
export function masqueradeAddresses(
  { call, attachment, netfilter, onFailure }: Addition,
  config: AddressingConfig,
  { portName }: Pair,
  rules: RuleRecord,
  { ips }: Addresses,
): void {
  const { syscalls } = call;
  const addresses = ips.map(({ address }) => address);
  const what = "masquerade the container's addresses";
  if ((config.masqueradeBackend ?? (hasIptables(syscalls) ? "iptables" : "nftables")) === "iptables") {
    onFailure(what, () => {
      removeIptablesMasquerade(syscalls, attachment);
      removeRuleRecord(syscalls, portName);
    });
    recordRules(call, { portName, attachment, rules: { ...rules, iptables: true } });
    addIptablesMasquerade(syscalls, attachment, addresses);
    return;
  }
  // Those of an earlier ADD without a DEL.
  let handles = readRuleRecord(syscalls, portName, attachment)?.masqueradeRules ?? [];
  onFailure(what, () => {
    if (handles.length > 0) removeNftMasquerade(syscalls, netfilter(), attachment, handles);
    removeRuleRecord(syscalls, portName);
  });
  for (let at = 0; at < addresses.length; at += ADDRESSES_AT_ONCE) {
    const portion = addresses.slice(at, at + ADDRESSES_AT_ONCE);
    const added = withFeature("ipMasq", "CONFIG_NF_TABLES_INET and CONFIG_NFT_MASQ", () =>
      addNftMasquerade(syscalls, netfilter(), attachment, portion),
    );
    handles = [...handles, ...added];
    recordRules(call, { portName, attachment, rules: { ...rules, masqueradeRules: handles } });
  }
}
