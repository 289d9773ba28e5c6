import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBridge, createVethPair, setBridgePort } from "../../../cni-plugins/netlink/bridge.ts";
import { deleteLink, dumpLinks, getLink, setLinkUp } from "../../../cni-plugins/netlink/link.ts";
import { MessageBatch, REQUESTS_AT_ONCE } from "../../../cni-plugins/netlink/message-batch.ts";
import { eachAttribute, readMessages, readText } from "../../../cni-plugins/netlink/message-reader.ts";
import { beginTransaction, deleteChain, endTransaction } from "../../../cni-plugins/netlink/nftables.ts";

function hex(batch: MessageBatch): string {
  return Buffer.from(batch.encode()).toString("hex");
}

/** length, type, flags, sequence, port; then struct ifinfomsg. */
const header = (length: string, type: string, flags: string) => `${length}000000${type}00${flags}0100000000000000`;
const ifinfo = (index: string, flags = "00000000", change = flags) => `00000000${index}000000${flags}${change}`;

describe("portions", () => {
  it.each([1, REQUESTS_AT_ONCE, REQUESTS_AT_ONCE + 1, 3 * REQUESTS_AT_ONCE])(
    "of %i requests are whole requests in order, not too many at once",
    (count) => {
      const batch = new MessageBatch(7);
      for (let i = 0; i < count; i++) getLink(batch, "x".repeat(i % 15));
      const portions = batch.portions();
      const sequences = portions.map(({ bytes }) => readMessages(bytes).map(({ sequence }) => sequence));
      expect(sequences.flat()).toEqual(Array.from({ length: count }, (_, i) => 7 + i));
      expect(sequences.map(({ length }) => length)).toEqual(portions.map(({ requests }) => requests));
      expect(Math.max(...portions.map(({ requests }) => requests))).toBeLessThanOrEqual(REQUESTS_AT_ONCE);
      expect(Buffer.concat(portions.map(({ bytes }) => bytes))).toEqual(Buffer.from(batch.encode()));
    },
  );

  it("never divide a transaction", () => {
    const batch = beginTransaction(new MessageBatch());
    for (let i = 0; i < 100; i++) deleteChain(batch, { family: 7, name: "nat" }, `chain${i}`);
    expect(endTransaction(batch).portions()).toMatchObject([{ requests: 100 }]);
  });
});

describe("requests, byte by byte", () => {
  it("asks for a link by name", () => {
    const expected = `${header("30", "12", "0500")}${ifinfo("00")}08001d00080000000800030062723100`;
    expect(hex(getLink(new MessageBatch(), "br1"))).toBe(expected);
  });

  it("asks for the ports of a bridge", () => {
    const expected = `${header("30", "12", "0503")}${ifinfo("00")}08001d000800000008000a0007000000`;
    expect(hex(dumpLinks(new MessageBatch(), 7))).toBe(expected);
  });

  it("deletes a link by index", () => {
    expect(hex(deleteLink(new MessageBatch(), 9))).toBe(`${header("20", "11", "0500")}${ifinfo("09")}`);
  });

  it("brings a link up", () => {
    expect(hex(setLinkUp(new MessageBatch(), 9))).toBe(`${header("20", "10", "0500")}${ifinfo("09", "01000000")}`);
  });

  it("brings a link up and gives it an alias, in one request", () => {
    const expected = `${header("30", "10", "0500")}${ifinfo("00", "01000000")}0600030061000000${"05001400"}62000000`;
    expect(hex(setLinkUp(new MessageBatch(), "a", "b"))).toBe(expected);
  });

  it("creates a bridge", () => {
    const info = "10001280" + "0b000100" + "6272696467650000";
    const expected = `${header("40", "10", "0506")}${ifinfo("00")}0800030062723100${"0800040078050000"}${info}`;
    expect(hex(createBridge(new MessageBatch(), { name: "br1", mtu: 1400 }))).toBe(expected);
  });

  it("creates a veth pair with the peer in its namespace", () => {
    const peerMac = new Uint8Array([2, 0, 0, 0, 0, 1]);
    const pair = { hostName: "veth0", master: 3, peerName: "net1", netns: 5, peerMac, mtu: undefined };
    const peer = `${"30000180"}${ifinfo("00")}09000300${"6e65743100000000"}08001c0005000000${"0a000100"}0200000000010000`;
    const length = (16 + 9 + 3 + 8 + 12 + 4).toString(16);
    const info = `${"48001280"}${"09000100"}7665746800000000${"38000280"}${peer.replace("30000180", `${length}000180`)}`;
    const body = `${ifinfo("00")}0a000300${"7665746830000000"}08000a0003000000${info}`;
    const bytes = hex(createVethPair(new MessageBatch(), pair));
    expect(bytes).toBe(`${header((16 + body.length / 2).toString(16), "10", "0506")}${body}`);
  });

  it("sets only the port flags that are on", () => {
    const hairpin = hex(setBridgePort(new MessageBatch(), 9, { hairpin: true, isolated: false }));
    expect(hairpin).toBe(`${header("2c", "13", "0500")}07000000090000000000000000000000${"0c000c80"}0500040001000000`);
    const both = hex(setBridgePort(new MessageBatch(), 9, { hairpin: true, isolated: true }));
    expect(both).toContain("14000c80" + "0500040001000000" + "0500210001000000");
  });
});

describe("a batch", () => {
  it("numbers its requests from the first sequence on", () => {
    const batch = deleteLink(getLink(new MessageBatch(41), "a"), 2);
    expect(readMessages(batch.encode()).map(({ sequence }) => sequence)).toEqual([41, 42]);
    expect(batch.nextSequence).toBe(43);
  });

  it("grows under attributes of every kind", () => {
    const batch = new MessageBatch().request("test", 16).linkHeader(0, 1);
    for (let i = 0; i < 1000; i++)
      batch
        .u8(1, i & 0xff)
        .u16(2, i)
        .u32(3, i)
        .be32(4, i)
        .be64(5, i)
        .bytes(6, Uint8Array.of(i & 0xff));
    const [message] = readMessages(batch.encode());
    const sums: Record<number, number> = {};
    if (message === undefined) throw new Error("nothing was written");
    eachAttribute(message.view, message.start + 16, message.end, (type, from, to) => {
      for (let at = from; at < to; at++) sums[type] = (sums[type] ?? 0) + message.view.getUint8(at);
    });
    const [low, whole] = [1, 3].map((type) => sums[type]);
    expect(sums).toEqual({ 1: low, 2: whole, 3: whole, 4: whole, 5: whole, 6: low });
    expect(low).toBe(Array.from({ length: 1000 }, (_, i) => i & 0xff).reduce((sum, byte) => sum + byte, 0));
  });

  it("gives back every attribute that was written, however large it grows", () => {
    const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), { maxLength: 60 });
    fc.assert(
      fc.property(texts, (values) => {
        const batch = new MessageBatch().request("test", 16).linkHeader(0, 1);
        const written = values.map((value) => value.toWellFormed().replaceAll("\0", ""));
        for (const value of written) batch.text(3, value);
        const [message] = readMessages(batch.encode());
        const read: string[] = [];
        if (message !== undefined) {
          eachAttribute(message.view, message.start + 16, message.end, (_, from, to) => {
            read.push(readText(message.view, from, to));
          });
        }
        expect(read).toEqual(written);
      }),
    );
  });
});
