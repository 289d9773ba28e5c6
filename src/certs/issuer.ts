import "reflect-metadata";
import { createPrivateKey, randomBytes, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { BACKDATE_MS, type KeyPair, parseKeyPair } from "./certificate.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Positive and at most 16 octets (RFC 5280 4.1.2.2 allows 20). */
const SERIAL_BYTES = 16;

/** ub-common-name of RFC 5280. The DNS names are complete. */
const MAX_COMMON_NAME = 64;

export interface CaRequest {
  readonly commonName: string;
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

export interface ServingRequest {
  readonly ca: KeyPair;
  readonly dnsNames: readonly [string, ...string[]];
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

/** A self-signed CA that may sign end certificates only. */
export async function issueCa(request: CaRequest): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(),
    name: [{ CN: [request.commonName] }],
    ...validity(request.nowMs, request.lifetimeMs),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toKeyPair(certificate, keys.privateKey);
}

/** A serving certificate. It never outlives its CA. */
export async function issueServing(request: ServingRequest): Promise<KeyPair> {
  const keys = await generateKeys();
  const ca = new x509.X509Certificate(request.ca.certificate.pem);
  const lifetimeMs = Math.min(request.lifetimeMs, request.ca.certificate.notAfterMs - request.nowMs);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: [{ CN: [request.dnsNames[0].slice(0, MAX_COMMON_NAME)] }],
    issuer: ca.subjectName,
    ...validity(request.nowMs, lifetimeMs),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(request.ca.keyPem),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(request.dnsNames.map((value) => ({ type: "dns", value }))),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(ca),
    ],
  });
  return toKeyPair(certificate, keys.privateKey);
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]) as Promise<webcrypto.CryptoKeyPair>;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
  return webcrypto.subtle.importKey("pkcs8", der, ALGORITHM, false, ["sign"]);
}

async function toKeyPair(certificate: x509.X509Certificate, privateKey: webcrypto.CryptoKey): Promise<KeyPair> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey));
  const keyPem = createPrivateKey({ key: der, format: "der", type: "pkcs8" }).export({ type: "pkcs8", format: "pem" });
  const pair = parseKeyPair(certificate.toString("pem"), keyPem.toString());
  if (pair === undefined) throw new Error(`the certificate just issued for ${certificate.subject} cannot be read back`);
  return pair;
}

function validity(nowMs: number, lifetimeMs: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(nowMs - BACKDATE_MS), notAfter: new Date(nowMs + lifetimeMs) };
}

function randomSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
