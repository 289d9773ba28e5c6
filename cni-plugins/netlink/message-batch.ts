/**
 * Writes rtnetlink requests, several of them into one buffer that takes one `send`. The kernel works through them in
 * order and answers each, also those after a failed one.
 *
 * This folder is the codec for rtnetlink: Uint8Array and DataView only, so it runs unchanged in Node and in QuickJS.
 * It imports nothing of ours; the plugins and the tests import it.
 */

import { NLM_F_ACK, NLM_F_REQUEST } from "./rtnetlink.ts";
import { encodeUtf8 } from "./utf8.ts";

const HEADER_BYTES = 16;
const NLA_F_NESTED = 0x8000;
const INITIAL_BYTES = 1024;
const ALIGN = 4;

/** The answers to all that is sent at once wait in the socket's buffer until they are read. */
export const REQUESTS_AT_ONCE = 32;

/** What one `send` takes. */
export interface Portion {
  readonly bytes: Uint8Array;
  /** How many answers come. */
  readonly requests: number;
}

export class MessageBatch {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  #messageStart = -1;
  #isTransaction = false;
  readonly firstSequence: number;
  /** What each request does, for the message of an error: "create the veth pair". */
  readonly operations: string[] = [];

  constructor(firstSequence = 1) {
    this.firstSequence = firstSequence;
  }

  get nextSequence(): number {
    return this.firstSequence + this.operations.length;
  }

  /** Begins a request; it ends where the next one begins. */
  request(operation: string, type: number, flags = 0): this {
    this.#endMessage();
    this.#messageStart = this.#claim(HEADER_BYTES);
    this.#view.setUint16(this.#messageStart + 4, type, true);
    this.#view.setUint16(this.#messageStart + 6, flags | NLM_F_REQUEST | NLM_F_ACK, true);
    this.#view.setUint32(this.#messageStart + 8, this.nextSequence, true);
    this.operations.push(operation);
    return this;
  }

  /** A message that the kernel does not answer; a failure of the batch as a whole is answered under its number, 0. */
  unanswered(type: number): this {
    this.#endMessage();
    this.#isTransaction = true;
    this.#messageStart = this.#claim(HEADER_BYTES);
    this.#view.setUint16(this.#messageStart + 4, type, true);
    this.#view.setUint16(this.#messageStart + 6, NLM_F_REQUEST, true);
    return this;
  }

  /** A message's fixed header, byte by byte. */
  header(bytes: readonly number[]): this {
    const at = this.#claim(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  /** struct ifinfomsg */
  linkHeader(family: number, index: number, flags = 0, change = 0): this {
    const at = this.#claim(16);
    this.#view.setUint8(at, family);
    this.#view.setInt32(at + 4, index, true);
    this.#view.setUint32(at + 8, flags, true);
    this.#view.setUint32(at + 12, change, true);
    return this;
  }

  u8(type: number, value: number): this {
    const at = this.#attribute(type, 1);
    this.#view.setUint8(at, value);
    return this;
  }

  u32(type: number, value: number): this {
    const at = this.#attribute(type, 4);
    this.#view.setUint32(at, value, true);
    return this;
  }

  u16(type: number, value: number): this {
    const at = this.#attribute(type, 2);
    this.#view.setUint16(at, value, true);
    return this;
  }

  /** Big-endian, as netfilter wants its numbers. */
  be32(type: number, value: number): this {
    const at = this.#attribute(type, 4);
    this.#view.setInt32(at, value, false);
    return this;
  }

  /** Big-endian, of a number below 2^53. */
  be64(type: number, value: number): this {
    const at = this.#attribute(type, 8);
    this.#view.setUint32(at, Math.floor(value / 0x1_0000_0000), false);
    this.#view.setUint32(at + 4, value >>> 0, false);
    return this;
  }

  /** A string with its closing nul. */
  text(type: number, value: string): this {
    const encoded = encodeUtf8(value);
    const at = this.#attribute(type, encoded.length + 1);
    this.#bytes.set(encoded, at);
    return this;
  }

  bytes(type: number, value: Uint8Array): this {
    const at = this.#attribute(type, value.length);
    this.#bytes.set(value, at);
    return this;
  }

  nested(type: number, write: () => void): this {
    const at = this.#claim(4);
    write();
    this.#view.setUint16(at, this.#length - at, true);
    this.#view.setUint16(at + 2, type | NLA_F_NESTED, true);
    return this;
  }

  encode(): Uint8Array {
    this.#endMessage();
    return this.#bytes.subarray(0, this.#length);
  }

  /** All of it, in order. A transaction is never divided. */
  portions(): readonly Portion[] {
    const bytes = this.encode();
    const { length: total } = this.operations;
    if (this.#isTransaction || total <= REQUESTS_AT_ONCE) return [{ bytes, requests: total }];
    const portions: Portion[] = [];
    for (let start = 0; start < bytes.length; ) {
      let [end, requests] = [start, 0];
      for (; end < bytes.length && requests < REQUESTS_AT_ONCE; requests++) {
        end = (end + this.#view.getUint32(end, true) + ALIGN - 1) & -ALIGN;
      }
      portions.push({ bytes: bytes.subarray(start, end), requests });
      start = end;
    }
    return portions;
  }

  #endMessage(): void {
    if (this.#messageStart >= 0) this.#view.setUint32(this.#messageStart, this.#length - this.#messageStart, true);
    this.#messageStart = -1;
  }

  #attribute(type: number, length: number): number {
    const at = this.#claim(4 + length);
    this.#view.setUint16(at, 4 + length, true);
    this.#view.setUint16(at + 2, type, true);
    return at + 4;
  }

  /** Zeroed space, padded to the alignment; where it starts. Ask for it first: it may move `#bytes` and `#view`. */
  #claim(length: number): number {
    const at = this.#length;
    this.#length = (at + length + ALIGN - 1) & -ALIGN;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}
