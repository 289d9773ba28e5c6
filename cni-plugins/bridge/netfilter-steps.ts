/** Steps of an ADD that filter and masquerade. */

import { EAFNOSUPPORT, ENOENT, EOPNOTSUPP } from "../netlink/errno.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { CniError, KERNEL_FEATURE_MISSING } from "../protocol/cni-error.ts";
import type { Step } from "../protocol/steps.ts";
import { type AddState, made } from "./add-state.ts";
import { type AttachmentRecord, removeRecord, saveRecord } from "./attachment-record.ts";
import type { MasqueradeBackend } from "./config.ts";
import { addressingOf } from "./container-steps.ts";
import { addIptablesMasquerade, hasIptables, removeIptablesMasquerade } from "./masquerade-iptables.ts";
import { addNftMasquerade, removeNftMasquerade } from "./masquerade-nftables.ts";
import { addSpoofCheck, openNetfilter, removeSpoofCheck } from "./spoof-check.ts";

/** Errors of a kernel that lacks a part of nftables. */
const MISSING = [EOPNOTSUPP, EAFNOSUPPORT, ENOENT];

export const checkSpoofing: Step<AddState> = {
  name: "check the container's MAC",
  apply(state) {
    const { attachment, mac } = state;
    const port = made(state.portName, "the veth pair");
    const handle = withFeature("macspoofchk", "CONFIG_NF_TABLES_BRIDGE", () =>
      addSpoofCheck(netfilterOf(state), attachment, port, mac),
    );
    remember(state, { spoofRule: handle });
  },
  undo(state) {
    const { spoofRule } = state.record;
    if (spoofRule === undefined) return;
    removeSpoofCheck(netfilterOf(state), state.attachment, spoofRule);
    forget(state);
  },
};

export const masqueradeAddresses: Step<AddState> = {
  name: "masquerade the container's addresses",
  apply(state) {
    const { attachment, call } = state;
    const addresses = made(state.addresses, "the addresses").ips.map(({ address }) => address);
    if (backendOf(state) === "iptables") {
      remember(state, { iptables: true });
      addIptablesMasquerade(call.host, attachment, addresses);
      return;
    }
    const handles = withFeature("ipMasq", "CONFIG_NF_TABLES_INET and CONFIG_NFT_MASQ", () =>
      addNftMasquerade(call.host, netfilterOf(state), attachment, addresses),
    );
    remember(state, { masqueradeRules: handles });
  },
  undo(state) {
    const { masqueradeRules, iptables } = state.record;
    const { host } = state.call;
    if (iptables === true) removeIptablesMasquerade(host, state.attachment);
    if (masqueradeRules !== undefined) {
      removeNftMasquerade(host, netfilterOf(state), state.attachment, masqueradeRules);
    }
    forget(state);
  },
};

function backendOf(state: AddState): MasqueradeBackend {
  return addressingOf(state).masqueradeBackend ?? (hasIptables(state.call.host) ? "iptables" : "nftables");
}

function netfilterOf(state: AddState): NetlinkSocket {
  state.netfilter ??= openNetfilter(state.call.host);
  return state.netfilter;
}

/** DEL finds what it wants without the record too, by a search. */
function remember(state: AddState, found: AttachmentRecord): void {
  state.record = { ...state.record, ...found };
  try {
    saveRecord(state.call.host, made(state.portName, "the veth pair"), state.attachment, state.record);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    state.call.warn(
      `DEL will take longer, its record can't be kept: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function forget({ call, portName }: AddState): void {
  if (portName !== undefined) removeRecord(call.host, portName);
}

export function isFeatureMissing(errno: number | undefined): boolean {
  return errno !== undefined && MISSING.includes(errno);
}

/** Names what the kernel lacks instead of the errno. */
export function withFeature<T>(key: string, feature: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!isFeatureMissing(errnoOf(error))) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new CniError(
      KERNEL_FEATURE_MISSING,
      `"${key}" needs ${feature} in the node's kernel, which lacks it: ${message}`,
    );
  }
}
