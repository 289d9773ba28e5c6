/** Expressions of nftables rules. Each one writes itself into a rule, with the registers and the order that `nft` uses. */

import { familyOf } from "./address.ts";
import type { MessageBatch } from "./message-batch.ts";
import { NFPROTO_IPV4, NFPROTO_IPV6 } from "./nftables.ts";
import { AF_INET } from "./rtnetlink.ts";

export type NftExpression = (batch: MessageBatch) => void;

const EXPRESSION_NAME = 1;
const EXPRESSION_DATA = 2;
const REGISTER = 1;
const VERDICT_REGISTER = 0;
const DATA_VALUE = 1;
const DATA_VERDICT = 2;
const VERDICT_CODE = 1;
const VERDICT_CHAIN = 2;

const META_IIFNAME = 6;
const META_NFPROTO = 15;
const LINK_HEADER = 0;
const NETWORK_HEADER = 1;
const COMPARE_EQUAL = 0;
const COMPARE_UNEQUAL = 1;
const IFNAME_BYTES = 16;
const ETHER_SOURCE = 6;
const MAC_BYTES = 6;
export const MAC_BITS = 48;

const DROP = 0;
const JUMP = -3;
const GOTO = -4;
const RETURN = -5;

function expression(name: string, write: (batch: MessageBatch) => void): NftExpression {
  return (batch) => {
    batch.text(EXPRESSION_NAME, name);
    batch.nested(EXPRESSION_DATA, () => write(batch));
  };
}

const meta = (key: number) => expression("meta", (batch) => batch.be32(2, key).be32(1, REGISTER));

const compare = (operator: number, value: Uint8Array) =>
  expression("cmp", (batch) => {
    batch.be32(1, REGISTER).be32(2, operator);
    batch.nested(3, () => batch.bytes(DATA_VALUE, value));
  });

const payload = (base: number, offset: number, length: number) =>
  expression("payload", (batch) => batch.be32(1, REGISTER).be32(2, base).be32(3, offset).be32(4, length));

const bitwise = (mask: Uint8Array) =>
  expression("bitwise", (batch) => {
    batch.be32(1, REGISTER).be32(2, REGISTER).be32(3, mask.length);
    batch.nested(4, () => batch.bytes(DATA_VALUE, mask));
    batch.nested(5, () => batch.bytes(DATA_VALUE, new Uint8Array(mask.length)));
  });

/** So many bytes with the first `length` bits set. */
export function prefixMask(bytes: number, length: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, i) => (0xff00 >> Math.min(8, Math.max(0, length - i * 8))) & 0xff);
}

const verdict = (code: number, chain?: string) =>
  expression("immediate", (batch) => {
    batch.be32(1, VERDICT_REGISTER);
    batch.nested(2, () =>
      batch.nested(DATA_VERDICT, () => {
        batch.be32(VERDICT_CODE, code);
        if (chain !== undefined) batch.text(VERDICT_CHAIN, chain);
      }),
    );
  });

export const jump = (chain: string) => verdict(JUMP, chain);
export const goTo = (chain: string) => verdict(GOTO, chain);
export const back = verdict(RETURN);
export const drop = verdict(DROP);

export const masquerade = expression("masq", () => {});

export function fromInterface(name: string): NftExpression[] {
  const padded = new Uint8Array(IFNAME_BYTES);
  padded.set(Array.from(name, (c) => c.charCodeAt(0)).slice(0, IFNAME_BYTES));
  return [meta(META_IIFNAME), compare(COMPARE_EQUAL, padded)];
}

/** Frames whose source begins with the first `length` bits of `mac`, which has no bit set beyond them. */
export function fromMac(mac: Uint8Array, length = MAC_BITS): NftExpression[] {
  const masked = length === MAC_BITS ? [] : [bitwise(prefixMask(MAC_BYTES, length))];
  return [payload(LINK_HEADER, ETHER_SOURCE, MAC_BYTES), ...masked, compare(COMPARE_EQUAL, mac)];
}

/** Only packets of the address's family. */
export function ofFamilyOf(address: Uint8Array): NftExpression[] {
  const family = familyOf(address) === AF_INET ? NFPROTO_IPV4 : NFPROTO_IPV6;
  return [meta(META_NFPROTO), compare(COMPARE_EQUAL, Uint8Array.of(family))];
}

export function fromAddress(address: Uint8Array): NftExpression[] {
  const offset = familyOf(address) === AF_INET ? 12 : 8;
  return [payload(NETWORK_HEADER, offset, address.length), compare(COMPARE_EQUAL, address)];
}

/** To an address in the network, or to one that is not. `network` has no bit set beyond the prefix. */
export function toNetwork(network: Uint8Array, length: number, inside: boolean): NftExpression[] {
  const offset = familyOf(network) === AF_INET ? 16 : 24;
  const operator = inside ? COMPARE_EQUAL : COMPARE_UNEQUAL;
  if (length > 0 && length % 8 === 0) {
    const part = network.slice(0, length / 8);
    return [payload(NETWORK_HEADER, offset, part.length), compare(operator, part)];
  }
  const mask = bitwise(prefixMask(network.length, length));
  return [payload(NETWORK_HEADER, offset, network.length), mask, compare(operator, network)];
}
