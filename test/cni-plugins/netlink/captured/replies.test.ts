import { describe, expect, it } from "vitest";
import stored from "./replies.json" with { type: "json" };
import { type CapturedReplies, readReplies } from "./replies.ts";
import { type Expected, LINKS_AND_ADDRESSES, NFTABLES, VLANS } from "./reply-scenes.ts";

describe.each<[string, readonly CapturedReplies[], Expected]>([
  ["a kernel without VLAN filtering", stored.linksAndAddresses.replies, LINKS_AND_ADDRESSES],
  ["nftables", stored.nftables.replies, NFTABLES],
  ["a kernel with VLAN filtering", stored.vlans.replies, VLANS],
])("answers of %s are read:", (_, replies, expected) => {
  it.each(Object.keys(expected))("%s", (command) => {
    const reply = replies.find((one) => one.asked === command);
    if (reply === undefined) throw new Error(`${command} was not captured`);
    expect(readReplies(reply)).toMatchObject(expected[command] ?? []);
  });
});

describe("a bridge of a kernel without VLAN filtering", () => {
  it("is not said to filter or not", () => {
    const reply = stored.linksAndAddresses.replies.find(({ asked }) => asked === "ip link show dev br0");
    expect(reply && readReplies(reply)).toMatchObject([{ bridgeVlans: { filtering: undefined, defaultVlan: 0 } }]);
  });
});
