import { formatMessage } from "netlink/dist/structs.js";
import { describe, expect, it } from "vitest";
import { LinkDump } from "../../../src/linux-bridge/agent/host-links.ts";

const [ERROR, DONE, NEWLINK] = [2, 3, 16];
const [EPERM, EMSGSIZE] = [-1, -90];
const INTERRUPTED = 0x10;

/** An answer of the kernel to the request with this number. */
function datagram(type: number, data: Uint8Array, { seq = 1, flags = 0 } = {}): Buffer {
  return Buffer.concat(formatMessage({ type, flags, seq, port: 0, data }));
}

const code = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer);
/** A link without any attribute. */
const LINK = new Uint8Array(16);

describe("a dump of links", () => {
  it("is complete at its end, whatever the number of datagrams", () => {
    const dump = new LinkDump();
    expect(dump.take(Buffer.concat([datagram(NEWLINK, LINK), datagram(NEWLINK, LINK)]))).toBe(false);
    expect(dump.take(datagram(NEWLINK, LINK))).toBe(false);
    expect(dump.take(datagram(DONE, code(0)))).toBe(true);
    expect([dump.links.length, dump.interrupted]).toEqual([3, false]);
  });

  it.each([
    ["a link", [datagram(NEWLINK, LINK, { flags: INTERRUPTED }), datagram(DONE, code(0))]],
    ["its end", [datagram(NEWLINK, LINK), datagram(DONE, code(0), { flags: INTERRUPTED })]],
  ])("is interrupted when the kernel says so of %s", (_, datagrams) => {
    const dump = new LinkDump();
    for (const one of datagrams) dump.take(one);
    expect(dump.interrupted).toBe(true);
  });

  it.each([
    ["is refused", datagram(ERROR, code(EPERM)), "EPERM"],
    ["ends with an error after some links", datagram(DONE, code(EMSGSIZE)), "EMSGSIZE"],
    ["is cut off", datagram(NEWLINK, LINK).subarray(0, 20), "Invalid header length"],
  ])("that %s is an error", (_, last, message) => {
    const dump = new LinkDump();
    dump.take(datagram(NEWLINK, LINK));
    expect(() => dump.take(last)).toThrow(message);
  });

  it("does not end with the answer to something else", () => {
    const dump = new LinkDump();
    expect(dump.take(datagram(DONE, code(0), { seq: 2 }))).toBe(false);
    expect(dump.take(datagram(NEWLINK, LINK, { seq: 2 }))).toBe(false);
    expect(dump.links).toEqual([]);
  });
});
