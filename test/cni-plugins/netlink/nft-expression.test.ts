/** Rules byte by byte beside those of `nft` 1.0.6, whose messages to the kernel were captured: `nft-rules.json`. */

import { describe, expect, it } from "vitest";
import { MessageBatch } from "../../../cni-plugins/netlink/message-batch.ts";
import { eachAttribute, readBytes, readMessages } from "../../../cni-plugins/netlink/message-reader.ts";
import {
  back,
  drop,
  fromAddress,
  fromInterface,
  fromMac,
  goTo,
  jump,
  masquerade,
  type NftExpression,
  ofFamilyOf,
  toNetwork,
} from "../../../cni-plugins/netlink/nft-expression.ts";
import { appendRule, NFPROTO_INET } from "../../../cni-plugins/netlink/nftables.ts";
import { parseIpPrefix } from "../../../cni-plugins/protocol/ip-address.ts";
import { parseMacAddress } from "../../../cni-plugins/protocol/mac-address.ts";
import captured from "./nft-rules.json" with { type: "json" };

const NFGENMSG_BYTES = 4;
const EXPRESSIONS = 4;
const USERDATA = 7;

function prefix(text: string): { address: Uint8Array; length: number } {
  const parsed = parseIpPrefix(text);
  if (parsed === undefined) throw new Error(`${text} is no prefix`);
  return parsed;
}

function inside(text: string, isInside: boolean): NftExpression[] {
  const { address, length } = prefix(text);
  return toNetwork(address, length, isInside);
}

function masqueraded(source: string, network: string): NftExpression[] {
  const { address } = prefix(source);
  return [...ofFamilyOf(address), ...fromAddress(address), ...inside(network, false), masquerade];
}

const multicast = (network: string) => [...ofFamilyOf(prefix(network).address), ...inside(network, true), back];
const mac = parseMacAddress("02:00:00:00:00:01") ?? new Uint8Array();

const OURS: Readonly<Record<string, { readonly rule: readonly NftExpression[]; readonly comment?: string }>> = {
  'bridge nat PREROUTING iifname veth01234567 jump macs comment "macspoofchk-c1-eth0"': {
    rule: [...fromInterface("veth01234567"), jump("macs")],
    comment: "macspoofchk-c1-eth0",
  },
  "bridge nat macs ether saddr 02:00:00:00:00:01 return": { rule: [...fromMac(mac), back] },
  "bridge nat macs drop": { rule: [drop] },
  "inet masq postrouting ip daddr 224.0.0.0/4 return": { rule: multicast("224.0.0.0/4") },
  "inet masq postrouting ip6 daddr ff00::/8 return": { rule: multicast("ff00::/8") },
  "inet masq postrouting goto checks": { rule: [goTo("checks")] },
  "inet masq checks ip saddr 10.5.0.2 ip daddr != 10.5.0.0/24 masquerade": {
    rule: masqueraded("10.5.0.2/24", "10.5.0.0/24"),
  },
  "inet masq checks ip saddr 10.5.0.2 ip daddr != 10.5.0.0/26 masquerade": {
    rule: masqueraded("10.5.0.2/26", "10.5.0.0/26"),
  },
  "inet masq checks ip6 saddr fd00:5::2 ip6 daddr != fd00:5::/64 masquerade": {
    rule: masqueraded("fd00:5::2/64", "fd00:5::/64"),
  },
  "inet masq checks ip6 saddr fd00:5::2 ip6 daddr != fd00:5::/62 masquerade": {
    rule: masqueraded("fd00:5::2/62", "fd00:5::/62"),
  },
};

/** Each expression with its header, and the comment's bytes. */
function encoded(rule: readonly NftExpression[], comment: string | undefined) {
  const batch = appendRule(new MessageBatch(), { family: NFPROTO_INET, name: "t" }, "c", rule, comment);
  const found: { expressions: string[]; comment?: string } = { expressions: [] };
  const hex = (view: DataView, from: number, to: number) => Buffer.from(readBytes(view, from, to)).toString("hex");
  for (const { view, start, end } of readMessages(batch.encode())) {
    eachAttribute(view, start + NFGENMSG_BYTES, end, (type, from, to) => {
      if (type === USERDATA) found.comment = hex(view, from, to);
      if (type !== EXPRESSIONS) return;
      // An attribute ends on a multiple of four bytes.
      eachAttribute(view, from, to, (_, at, stop) =>
        found.expressions.push(hex(view, at - 4, stop + ((4 - (stop % 4)) % 4))),
      );
    });
  }
  return found;
}

describe("a rule is what nft makes of it:", () => {
  it.each(captured)("$rule", ({ rule, expressions, comment }) => {
    const ours = OURS[rule];
    expect(ours).toBeDefined();
    expect(encoded(ours?.rule ?? [], ours?.comment)).toEqual({
      expressions,
      ...(comment === undefined ? {} : { comment }),
    });
  });
});
