import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type KeyPair, parseKeyPair } from "./certificate.ts";
import {
  authorityKeyIdentifier,
  caConstraints,
  commonName,
  dnsNames,
  endConstraints,
  handshakeUsage,
  serverUsage,
  signCertificate,
  signingUsage,
  subjectKeyIdentifier,
  subjectOf,
} from "./signed-certificate.ts";

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
export function issueCa({ commonName: name, nowMs, lifetimeMs }: CaRequest): KeyPair {
  const { publicKey, privateKey } = newKeys();
  const subject = commonName(name);
  const extensions = [caConstraints(), signingUsage(), subjectKeyIdentifier(publicKey)];
  const content = { subject, issuer: subject, publicKey, nowMs, notAfterMs: nowMs + lifetimeMs, extensions };
  return pairOf(signCertificate(content, privateKey), privateKey);
}

/** A serving certificate. It never outlives its CA. */
export function issueServing({ ca, dnsNames: names, nowMs, lifetimeMs }: ServingRequest): KeyPair {
  const { publicKey, privateKey } = newKeys();
  const { pem, notAfterMs } = ca.certificate;
  const content = {
    subject: commonName(names[0].slice(0, MAX_COMMON_NAME)),
    issuer: subjectOf(pem),
    publicKey,
    nowMs,
    notAfterMs: Math.min(nowMs + lifetimeMs, notAfterMs),
    extensions: [
      endConstraints(),
      handshakeUsage(),
      serverUsage(),
      dnsNames(names),
      subjectKeyIdentifier(publicKey),
      authorityKeyIdentifier(pem),
    ],
  };
  return pairOf(signCertificate(content, createPrivateKey(ca.keyPem)), privateKey);
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

function pairOf(certificatePem: string, privateKey: KeyObject): KeyPair {
  const pair = parseKeyPair(certificatePem, String(privateKey.export({ type: "pkcs8", format: "pem" })));
  if (pair === undefined) throw new Error("the certificate just issued cannot be read back");
  return pair;
}
