/** ASN.1 values in DER (X.690), as far as certificates need them. */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** A field that its number in the type names, primitive or constructed. */
export const fieldTag = (number: number): number => 0x80 | number;
export const constructedFieldTag = (number: number): number => 0xa0 | number;

export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...long]), content]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...parts);

/** Of whole bytes unless the last one has unused bits. */
export const bitString = (bits: Uint8Array, unused = 0): Buffer => der(TAG.bitString, Buffer.from([unused]), bits);

/** The values inside a constructed one, each as a whole. */
export function valuesIn(value: Buffer): Buffer[] {
  const values: Buffer[] = [];
  const { start, end } = extentOf(value);
  for (let rest = value.subarray(start, end); rest.length > 0; ) {
    const next = extentOf(rest).end;
    values.push(rest.subarray(0, next));
    rest = rest.subarray(next);
  }
  return values;
}

function extentOf(value: Buffer): { readonly start: number; readonly end: number } {
  const length = value.readUInt8(1);
  if (length < 0x80) return { start: 2, end: 2 + length };
  const start = 2 + (length & 0x7f);
  return { start, end: start + value.readUIntBE(2, start - 2) };
}
