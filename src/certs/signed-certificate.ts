/**
 * Certificates for keys on P-256 (RFC 5280 4.1), made with Node's own cryptography: a library for them takes 8 MB of memory of
 * each process that loads it.
 */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { BACKDATE_MS } from "./certificate.ts";
import { bitString, constructedFieldTag, der, fieldTag, sequence, TAG, valuesIn } from "./der.ts";

export interface CertificateContent {
  /** Names in DER. */
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  /** It is valid from a little before. */
  readonly nowMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Buffer[];
}

const oid = (hex: string): Buffer => Buffer.from(hex, "hex");

/** Object identifiers, encoded. */
const ECDSA_WITH_SHA256 = oid("06082a8648ce3d040302");
const COMMON_NAME = oid("0603550403");
const SUBJECT_KEY_IDENTIFIER = oid("0603551d0e");
const KEY_USAGE = oid("0603551d0f");
const SUBJECT_ALT_NAME = oid("0603551d11");
const BASIC_CONSTRAINTS = oid("0603551d13");
const AUTHORITY_KEY_IDENTIFIER = oid("0603551d23");
const EXTENDED_KEY_USAGE = oid("0603551d25");
const SERVER_AUTH = oid("06082b06010505070301");

const TRUE = der(TAG.boolean, Buffer.from([0xff]));
const VERSION_3 = der(constructedFieldTag(0), der(TAG.integer, Buffer.from([2])));
const EXTENSIONS = constructedFieldTag(3);
const DNS_NAME = fieldTag(2);
const KEY_IDENTIFIER = fieldTag(0);
/** Where the subject stands in what is signed. */
const SUBJECT = 5;
/** An uncompressed point. */
const PUBLIC_KEY_BYTES = 65;
const SERIAL_BYTES = 16;
/** From this year on RFC 5280 asks for four digits. */
const FOUR_DIGITS_FROM = 2050;

/** PEM. */
export function signCertificate(content: CertificateContent, signingKey: KeyObject): string {
  const { subject, issuer, publicKey, nowMs, notAfterMs, extensions } = content;
  const algorithm = sequence(ECDSA_WITH_SHA256);
  const signed = sequence(
    VERSION_3,
    serialNumber(),
    algorithm,
    issuer,
    sequence(time(nowMs - BACKDATE_MS), time(notAfterMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXTENSIONS, sequence(...extensions)),
  );
  return pem(sequence(signed, algorithm, bitString(sign("sha256", signed, signingKey))));
}

export function commonName(name: string): Buffer {
  return sequence(der(TAG.set, sequence(COMMON_NAME, der(TAG.utf8String, Buffer.from(name)))));
}

/** The subject as the certificate has it, byte by byte: clients compare it so with the issuer of what it signed. */
export function subjectOf(certificatePem: string): Buffer {
  const [signed = Buffer.alloc(0)] = valuesIn(new X509Certificate(certificatePem).raw);
  const subject = valuesIn(signed)[SUBJECT];
  if (subject === undefined) throw new Error("the certificate has no subject");
  return subject;
}

/** A CA that signs end certificates only. */
export const caConstraints = (): Buffer =>
  critical(BASIC_CONSTRAINTS, sequence(TRUE, der(TAG.integer, Buffer.from([0]))));
export const endConstraints = (): Buffer => critical(BASIC_CONSTRAINTS, sequence());

/** keyCertSign and cRLSign. */
export const signingUsage = (): Buffer => critical(KEY_USAGE, bitString(Buffer.from([0x06]), 1));
/** digitalSignature. */
export const handshakeUsage = (): Buffer => critical(KEY_USAGE, bitString(Buffer.from([0x80]), 7));
export const serverUsage = (): Buffer => extension(EXTENDED_KEY_USAGE, sequence(SERVER_AUTH));

export const dnsNames = (names: readonly string[]): Buffer =>
  extension(SUBJECT_ALT_NAME, sequence(...names.map((name) => der(DNS_NAME, Buffer.from(name)))));

export const subjectKeyIdentifier = (key: KeyObject): Buffer =>
  extension(SUBJECT_KEY_IDENTIFIER, der(TAG.octetString, keyIdentifier(key)));

export const authorityKeyIdentifier = (caPem: string): Buffer =>
  extension(AUTHORITY_KEY_IDENTIFIER, sequence(der(KEY_IDENTIFIER, keyIdentifier(createPublicKey(caPem)))));

function critical(id: Buffer, value: Buffer): Buffer {
  return sequence(id, TRUE, der(TAG.octetString, value));
}

function extension(id: Buffer, value: Buffer): Buffer {
  return sequence(id, der(TAG.octetString, value));
}

/** RFC 5280 4.2.1.2, the first method. */
function keyIdentifier(key: KeyObject): Buffer {
  const point = key.export({ type: "spki", format: "der" }).subarray(-PUBLIC_KEY_BYTES);
  return createHash("sha1").update(point).digest();
}

/** Positive and without a zero in front. */
function serialNumber(): Buffer {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return der(TAG.integer, bytes);
}

function time(ms: number): Buffer {
  const date = new Date(ms);
  const digits = `${date.toISOString().replace(/\D/g, "").slice(0, 14)}Z`;
  return date.getUTCFullYear() < FOUR_DIGITS_FROM
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(digits));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
