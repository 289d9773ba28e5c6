/**
 * A request as lines, one for each thing that it says, so that two can be compared that say the same in different bytes.
 *
 * What two senders may write differently without effect, and what has no line therefore:
 * - the message's number and the socket's: each sender counts by itself;
 * - NLM_F_ACK: whether an answer without content is wanted;
 * - NLA_F_NESTED: the kernel takes attributes that contain others with and without it;
 * - the closing nul of a name: the kernel takes names with and without it. Not so an alias, where it counts as a byte;
 * - fields of a header that are 0, which is what they are when nobody sets them;
 * - the order of attributes, except of those that are there several times: lines are sorted, and those numbered.
 */

import { type Attribute, type Attributes, describedType, type Header, IFINFOMSG } from "./message-schema.ts";

const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;

export function requestLines(hex: string): string[] {
  const message = Buffer.from(hex, "hex");
  if (message.readUInt32LE(0) !== message.length) throw new Error(`${hex} has not the length that it says`);
  const [name, header, attributes] = describedType(message);
  const flags = message.readUInt16LE(6);
  if ((flags & NLM_F_REQUEST) === 0) throw new Error(`${hex} is no request`);
  const lines = [name];
  const others = flags & ~(NLM_F_REQUEST | NLM_F_ACK);
  if (others !== 0) lines.push(`nlmsg_flags=0x${others.toString(16)}`);
  lines.push(...headerLines(message.subarray(16), header, ""));
  lines.push(...attributeLines(message.subarray(16 + lengthOf(header)), attributes, ""));
  return lines.sort();
}

const lengthOf = (header: Header): number => header.reduce((sum, [, length]) => sum + length, 0);

function headerLines(bytes: Buffer, header: Header, path: string): string[] {
  let at = 0;
  return header.flatMap(([name, length]) => {
    const value = bytes.readUIntLE(at, length);
    at += length;
    if (value === 0) return [];
    return [`${path}${name === "" ? "padding" : name}=${name.startsWith("ifi_") ? `0x${value.toString(16)}` : value}`];
  });
}

function attributeLines(bytes: Buffer, attributes: Attributes, path: string): string[] {
  const seen = new Map<number, number>();
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    const type = bytes.readUInt16LE(at + 2) & 0x3fff;
    if (length < 4 || at + length > bytes.length) throw new Error(`an attribute of ${path} has length ${length}`);
    const nth = (seen.get(type) ?? 0) + 1;
    seen.set(type, nth);
    const name = path + (nth > 1 ? `#${nth} ` : "");
    lines.push(...linesOf(bytes.subarray(at + 4, at + length), attributes[type] ?? `attribute ${type}`, name));
    at += (length + 3) & ~3;
  }
  return lines;
}

function linesOf(value: Buffer, attribute: Attribute, path: string): string[] {
  if (typeof attribute === "string") return [`${path}${attribute}=${value.toString("hex")}`];
  if ("text" in attribute) return [`${path}${attribute.text}="${value.toString().replace(/\0$/, "")}"`];
  const inner = `${path}${attribute.name}/`;
  const start = attribute.header === true ? lengthOf(IFINFOMSG) : 0;
  const before = start > 0 ? headerLines(value, IFINFOMSG, inner) : [];
  if (value.length === start) return [`${inner} is empty`, ...before];
  return [...before, ...attributeLines(value.subarray(start), attribute.inside, inner)];
}
