/** The step of an ADD that masquerades, by iptables or nftables. */

import type { Step } from "../protocol/steps.ts";
import { type AddState, addressingOf, made } from "./add-state.ts";
import { readRecord } from "./attachment-record.ts";
import type { MasqueradeBackend } from "./config.ts";
import { withFeature } from "./netfilter.ts";
import { load } from "./parts.ts";
import { forget, netfilterOf, remember } from "./rule-record.ts";

export const masqueradeAddresses: Step<AddState> = {
  name: "masquerade the container's addresses",
  apply(state) {
    const { attachment, call } = state;
    const addresses = made(state.addresses, "the addresses").ips.map(({ address }) => address);
    if (backendOf(state) === "iptables") {
      remember(state, { iptables: true });
      load(call.host, "masquerade-iptables").addIptablesMasquerade(call.host, attachment, addresses);
      return;
    }
    const handles = withFeature("ipMasq", "CONFIG_NF_TABLES_INET and CONFIG_NFT_MASQ", () =>
      load(call.host, "masquerade-nftables").addNftMasquerade(call.host, netfilterOf(state), attachment, addresses),
    );
    remember(state, { masqueradeRules: [...rulesBefore(state), ...handles] });
  },
  undo(state) {
    const { masqueradeRules, iptables } = state.record;
    const { host } = state.call;
    if (iptables === true) load(host, "masquerade-iptables").removeIptablesMasquerade(host, state.attachment);
    if (masqueradeRules !== undefined) {
      load(host, "masquerade-nftables").removeNftMasquerade(
        host,
        netfilterOf(state),
        state.attachment,
        masqueradeRules,
      );
    }
    forget(state);
  },
};

/** Those of an ADD before that no DEL took back. */
function rulesBefore({ call, portName, attachment }: AddState): readonly number[] {
  return readRecord(call.host, made(portName, "the veth pair"), attachment)?.masqueradeRules ?? [];
}

function backendOf(state: AddState): MasqueradeBackend {
  const { masqueradeBackend } = addressingOf(state);
  if (masqueradeBackend !== undefined) return masqueradeBackend;
  const { host } = state.call;
  return load(host, "masquerade-iptables").hasIptables(host) ? "iptables" : "nftables";
}
