import { describe, expect, it } from "vitest";
import {
  addAccessVlan,
  addTrunkVlans,
  deleteVlan,
  rangesOf,
  readPortVlans,
} from "../../../cni-plugins/netlink/bridge-vlan.ts";
import { MessageBatch } from "../../../cni-plugins/netlink/message-batch.ts";
import { readMessages } from "../../../cni-plugins/netlink/message-reader.ts";

const hex = (batch: MessageBatch) => Buffer.from(batch.encode()).toString("hex");

/** length, type, flags, sequence, port; struct ifinfomsg of AF_BRIDGE and interface 9; IFLA_AF_SPEC; the master's flag. */
const request = (length: string, type: string, spec: string) =>
  `${length}000000${type}0005000100000000000000${"07000000"}09000000${"0000000000000000"}${spec}001a80${"0600000001000000"}`;

describe("VLANs of a bridge port, byte by byte", () => {
  it("an access VLAN has the flags of untagged frames", () => {
    expect(hex(addAccessVlan(new MessageBatch(), 9, 100))).toBe(`${request("34", "13", "14")}0800020006006400`);
  });

  it("a trunk's runs are ranges", () => {
    const trunk = addTrunkVlans(new MessageBatch(), 9, rangesOf([10, 11, 12, 20]));
    expect(hex(trunk)).toBe(`${request("44", "13", "24")}0800020008000a00${"0800020010000c00"}${"0800020000001400"}`);
  });

  it("a VLAN is removed by its number", () => {
    expect(hex(deleteVlan(new MessageBatch(), 9, 1))).toBe(`${request("34", "11", "14")}0800020000000100`);
  });

  it("ranges are read as the VLANs in them", () => {
    const batch = addTrunkVlans(addAccessVlan(new MessageBatch(), 9, 5), 9, rangesOf([10, 11, 12]));
    const read = readMessages(batch.encode()).map(readPortVlans);
    expect(read[0]).toEqual([{ id: 5, pvid: true, untagged: true }]);
    expect(read[1]?.map(({ id }) => id)).toEqual([10, 11, 12]);
  });
});
