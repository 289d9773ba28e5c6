/**
 * CEL rules of our CRDs. A rule's text is the operator's own text, so an edit is refused at `kubectl apply` with the same
 * words. Kubernetes 1.30 has all functions used here.
 */

import { CNAO_NAMES, type RangeNames, wrongOrderText } from "./mac-range.ts";

export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  /** CEL that makes the message; `message` is shown when it fails. */
  readonly messageExpression?: string;
  readonly fieldPath?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueRequired" | "FieldValueForbidden" | "FieldValueDuplicate";
}

/** Put into a zod schema's `.meta()`. */
export function celRules(...rules: readonly CelRule[]): { readonly "x-kubernetes-validations": readonly CelRule[] } {
  return { "x-kubernetes-validations": rules };
}

const SEPARATED =
  "([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|([0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}|" +
  "[0-9A-Fa-f]{4}[.][0-9A-Fa-f]{4}[.][0-9A-Fa-f]{4}";

const isMac = (value: string): string => `${value}.matches('^(${SEPARATED}|[0-9A-Fa-f]{12})$')`;

/** An address in another notation than digits alone. */
const isSeparatedMac = (value: string): string => `${value}.matches('^(${SEPARATED})$')`;

/** Whether a text that changes is an address that stays the same, in a notation that nobody has to write anew. */
export const isSameMac = (before: string, now: string): string =>
  `(${before} == ${now} || (${isMac(before)} && ${isSeparatedMac(now)} && ${macDigits(before)} == ${macDigits(now)}))`;

/** Twelve lower-case hex digits. Their order as text is their order as 48-bit numbers. */
const macDigits = (value: string): string => `${value}.replace(':', '').replace('-', '').replace('.', '').lowerAscii()`;

/** Six octets one after another: the API server can't bound the length of what CEL joins. */
const inColonForm = (value: string): string =>
  [0, 2, 4, 6, 8, 10].map((from) => `${macDigits(value)}.substring(${from}, ${from + 2})`).join(" + ':' + ");

const isMulticast = (value: string): string => `${value}.matches('^[0-9A-Fa-f][13579bdfBDF]')`;

const octetText = (value: string): string =>
  `(${value}.startsWith('0') ? ${value}.substring(1, 2) : ${value}.substring(0, 2)).upperAscii()`;

/**
 * Rules for an object with the two ends of a MAC range, both present when `required`.
 * `single` allows a range of one address. The texts are those of parseRange.
 */
export function macRangeRules(
  names: { readonly start: string; readonly end: string },
  options: { readonly required: boolean; readonly single: boolean; readonly texts: RangeNames },
): CelRule[] {
  const { texts } = options;
  const start = `self.${names.start}`;
  const end = `self.${names.end}`;
  const has = (name: string): string => (options.required ? "true" : `(has(self.${name}) && self.${name} != '')`);
  const given = `${has(names.start)} && ${has(names.end)}`;
  const ends = [
    { name: names.start, value: start, text: texts.start, setText: texts.setStart },
    { name: names.end, value: end, text: texts.end, setText: texts.setEnd },
  ];
  const both: CelRule = {
    rule: `${has(names.start)} == ${has(names.end)}`,
    message: "both or none of the KubeMacPool ranges needs to be configured",
  };
  const syntax = ends.map(({ name, value, text }) => ({
    rule: `!${has(name)} || ${isMac(value)}`,
    ...(texts !== CNAO_NAMES && {
      messageExpression: `'failed to parse ${text} "' + ${value} + '" because the mac address is invalid'`,
    }),
    message: `failed to parse ${text} because the mac address is invalid`,
    fieldPath: `.${name}`,
  }));
  const unicast = ends.map(({ name, value, setText }) => {
    const text =
      `failed to set ${setText}: invalid mac address. Multicast addressing is not supported. ` +
      "Unicast addressing must be used. The first octet is 0X";
    return {
      rule: `!${has(name)} || !${isMac(value)} || !${isMulticast(value)}`,
      messageExpression: `'${text}' + ${octetText(value)}`,
      message: `${text}..`,
      fieldPath: `.${name}`,
    };
  });
  const readable = `(${given} && ${isMac(start)} && ${isMac(end)})`;
  const showEnds = `'start: ' + ${inColonForm(start)} + ' end: ' + ${inColonForm(end)}`;
  const orderText = wrongOrderText(options.single);
  const order = {
    rule: `!${readable} || ${macDigits(start)} ${options.single ? "<=" : "<"} ${macDigits(end)}`,
    messageExpression: `'${orderText} ' + ${showEnds}`,
    message: orderText,
  };
  const notZero = {
    rule: `!${has(names.start)} || !${isMac(start)} || ${macDigits(start)} != '000000000000'`,
    message: `failed to set ${texts.setStart}: invalid mac address. The all-zero address cannot be used`,
    fieldPath: `.${names.start}`,
  };
  return [...(options.required ? [] : [both]), ...syntax, ...unicast, order, notZero];
}
