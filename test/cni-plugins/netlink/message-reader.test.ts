import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLink } from "../../../cni-plugins/netlink/link.ts";
import { eachAttribute, readAcknowledgement, readMessages } from "../../../cni-plugins/netlink/message-reader.ts";
import { decodeUtf8, encodeUtf8 } from "../../../cni-plugins/netlink/utf8.ts";
import { share } from "../../support/share.ts";

describe("reading what the kernel sends", () => {
  it("never reads beyond a datagram, whatever its bytes say", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        for (const message of readMessages(bytes)) {
          readLink(message);
          readAcknowledgement(message);
        }
      }),
      { numRuns: share(2_000) },
    );
  });

  it("never reads beyond a message whose lengths are right and whose attributes are not", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 600 }), fc.nat({ max: 1 }), (bytes, nested) => {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        view.setUint32(0, bytes.length, true);
        if (nested === 1 && bytes.length >= 36) view.setUint32(32, (18 << 16) | (bytes.length - 32), true);
        for (const message of readMessages(bytes)) readLink(message);
      }),
      { numRuns: share(2_000) },
    );
  });

  it("stops at an attribute that claims more than there is", () => {
    const view = new DataView(new Uint8Array([8, 0, 1, 0, 1, 2, 3, 4, 200, 0, 2, 0]).buffer);
    const types: number[] = [];
    eachAttribute(view, 0, view.byteLength, (type) => types.push(type));
    expect(types).toEqual([1]);
  });

  it("gives the errno and the kernel's own sentence of a refused request", () => {
    // As the kernel answers `ip link add br1 mtu 20 type bridge`: capped, with one extended acknowledgement text.
    const text = Buffer.from("mtu less than device minimum\0");
    const message = Buffer.alloc(16 + 4 + 16 + 4 + 32);
    message.writeUInt32LE(16 + 4 + 16 + 4 + text.length, 0);
    message.writeUInt16LE(2, 4);
    message.writeUInt16LE(0x300, 6);
    message.writeInt32LE(-22, 16);
    message.writeUInt16LE(4 + text.length, 36);
    message.writeUInt16LE(1, 38);
    text.copy(message, 40);
    const [read] = readMessages(message);
    expect(read && readAcknowledgement(read)).toEqual({ errno: 22, text: "mtu less than device minimum" });
  });
});

describe("UTF-8", () => {
  it("encodes as TextEncoder does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect([...encodeUtf8(text)]).toEqual([...new TextEncoder().encode(text)]);
      }),
    );
  });

  it("decodes what it encoded", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text.toWellFormed());
      }),
    );
  });

  it("shows bytes that are no UTF-8 as replacement characters", () => {
    expect(decodeUtf8(new Uint8Array([0x61, 0xff, 0x25]))).toBe("a\ufffd%");
  });
});
