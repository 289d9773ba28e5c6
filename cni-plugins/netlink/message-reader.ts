/** Reads what the kernel sends: messages of one datagram, attributes of one message. */

import { NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSGERR_ATTR_MSG } from "./rtnetlink.ts";
import { decodeUtf8 } from "./utf8.ts";

const HEADER_BYTES = 16;
const ATTRIBUTE_HEADER_BYTES = 4;
const ATTRIBUTE_TYPE_MASK = 0x3fff;

export interface Message {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** The payload is `start` to `end` of this view. */
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

/** The messages of one datagram. Stops at a length that can't be true. */
export function readMessages(datagram: Uint8Array): Message[] {
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
  const messages: Message[] = [];
  for (let at = 0; at + HEADER_BYTES <= view.byteLength; ) {
    const length = view.getUint32(at, true);
    if (length < HEADER_BYTES || at + length > view.byteLength) break;
    messages.push({
      type: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      sequence: view.getUint32(at + 8, true),
      view,
      start: at + HEADER_BYTES,
      end: at + length,
    });
    at += align(length);
  }
  return messages;
}

/** Visits the attributes between `start` and `end`; stops at a length that can't be true. */
export function eachAttribute(
  view: DataView,
  start: number,
  end: number,
  visit: (type: number, start: number, end: number) => void,
): void {
  for (let at = start; at + ATTRIBUTE_HEADER_BYTES <= end; ) {
    // In one piece, and the alignment here: this loop is much of what reading an answer costs.
    const header = view.getUint32(at, true);
    const length = header & 0xffff;
    if (length < ATTRIBUTE_HEADER_BYTES || at + length > end) return;
    visit((header >>> 16) & ATTRIBUTE_TYPE_MASK, at + ATTRIBUTE_HEADER_BYTES, at + length);
    at += (length + 3) & ~3;
  }
}

/** A string up to its nul. */
export function readText(view: DataView, start: number, end: number): string {
  let stop = start;
  while (stop < end && view.getUint8(stop) !== 0) stop++;
  return decodeUtf8(new Uint8Array(view.buffer, view.byteOffset + start, stop - start));
}

/** 0 when there is not enough to read. */
export function readU8(view: DataView, start: number, end: number): number {
  return start < end ? view.getUint8(start) : 0;
}

/** 0 when there is not enough to read. */
export function readU32(view: DataView, start: number, end: number): number {
  return start + 4 <= end ? view.getUint32(start, true) : 0;
}

/** 0 when there is not enough to read. */
export function readU16(view: DataView, start: number, end: number): number {
  return start + 2 <= end ? view.getUint16(start, true) : 0;
}

/** A copy. */
export function readBytes(view: DataView, start: number, end: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice();
}

/** Of an NLMSG_ERROR or NLMSG_DONE message: errno (0 is success) and the kernel's sentence about it, if it gave one. */
export function readAcknowledgement(message: Message): { errno: number; text: string } {
  const { view, start, end, flags } = message;
  if (start + 4 > end) return { errno: 0, text: "" };
  let text = "";
  if (flags & NLM_F_ACK_TLVS && start + 4 + HEADER_BYTES <= end) {
    const echoed = flags & NLM_F_CAPPED ? HEADER_BYTES : align(view.getUint32(start + 4, true));
    eachAttribute(view, start + 4 + echoed, end, (type, from, to) => {
      if (type === NLMSGERR_ATTR_MSG) text = readText(view, from, to);
    });
  }
  return { errno: -view.getInt32(start, true), text };
}

function align(length: number): number {
  return (length + 3) & ~3;
}
