/** What a rule does, as texts that do not depend on its maker or its registers. */

import { eachAttribute, type Message, readBytes, readText } from "./message-reader.ts";
import { MAC_BITS, prefixMask } from "./nft-expression.ts";

const NFGENMSG_BYTES = 4;
const RULE_EXPRESSIONS = 4;
const EXPRESSION_NAME = 1;
const EXPRESSION_DATA = 2;
const DATA_VALUE = 1;
const DATA_VERDICT = 2;
const VERDICT_CODE = 1;
const VERDICT_CHAIN = 2;
const IFNAME_BYTES = 16;
/** Of an expression `bitwise`. */
const BITWISE_MASK = 4;
const BITWISE_XOR = 5;
const BITWISE_OPERATION = 6;

const VERDICTS: Readonly<Record<number, string>> = {
  0: "drop",
  1: "accept",
  [-3]: "jump",
  [-4]: "goto",
  [-5]: "return",
};

/** The term of a rule about frames whose source begins with the first `length` bits of `mac`, in lower case with colons. */
export function fromMacTerm(mac: string, length = MAC_BITS): string {
  const mask = length === MAC_BITS ? "" : ` & ${hexadecimal(prefixMask(MAC_BITS / 8, length))}`;
  return `payload 0 6 6${mask} == ${mac}`;
}

/** The term of a rule about frames from this interface. */
export function fromInterfaceTerm(ifname: string): string {
  return `meta 6 == ${hexadecimal(Uint8Array.from({ length: IFNAME_BYTES }, (_, i) => ifname.charCodeAt(i) || 0))}`;
}

/** Comparisons and verdicts, without counters. Any other expression is a term with its name, which says nothing else. */
export function readRuleTerms({ view, start, end }: Message): string[] {
  const terms: string[] = [];
  const loaded: Record<number, string> = {};
  const dataOf = (extent: Extent | undefined) =>
    readBytes(view, ...(attributesOf(view, extent)[DATA_VALUE] ?? NOTHING));
  const read = (name: string, data: Attributes) => {
    const number = (type: number) => readBe32(view, data[type]);
    if (name === "meta") loaded[number(1)] = `meta ${number(2)}`;
    else if (name === "payload") loaded[number(1)] = `payload ${number(2)} ${number(3)} ${number(4)}`;
    else if (name === "bitwise" && number(BITWISE_OPERATION) === 0 && isZero(dataOf(data[BITWISE_XOR]))) {
      loaded[number(2)] = `${loaded[number(1)]} & ${hexadecimal(dataOf(data[BITWISE_MASK]))}`;
    } else if (name === "cmp" && number(2) === 0) {
      terms.push(`${loaded[number(1)]} == ${hexadecimal(dataOf(data[3]))}`);
    } else if (name === "immediate") terms.push(readVerdict(view, data[2]));
    else if (name !== "counter") terms.push(name);
  };
  const { [RULE_EXPRESSIONS]: expressions = NOTHING } = attributesOf(view, [start + NFGENMSG_BYTES, end]);
  eachAttribute(view, ...expressions, (_, ...expression) => {
    const { [EXPRESSION_NAME]: name = NOTHING, [EXPRESSION_DATA]: data } = attributesOf(view, expression);
    read(readText(view, ...name), attributesOf(view, data));
  });
  return terms;
}

function readVerdict(view: DataView, data: Extent | undefined): string {
  const verdict = attributesOf(view, attributesOf(view, data)[DATA_VERDICT]);
  const code = readBe32(view, verdict[VERDICT_CODE]) | 0;
  const chain = verdict[VERDICT_CHAIN];
  return (VERDICTS[code] ?? `verdict ${code}`) + (chain === undefined ? "" : ` ${readText(view, ...chain)}`);
}

type Extent = readonly [start: number, end: number];
type Attributes = Readonly<Record<number, Extent>>;

const NOTHING: Extent = [0, 0];

function attributesOf(view: DataView, [start, end]: Extent = NOTHING): Attributes {
  const found: Record<number, Extent> = {};
  eachAttribute(view, start, end, (type, from, to) => {
    found[type] = [from, to];
  });
  return found;
}

function readBe32(view: DataView, [start, end]: Extent = NOTHING): number {
  return start + 4 <= end ? view.getUint32(start, false) : 0;
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(":");
}
