import { createPrivateKey, X509Certificate } from "node:crypto";

/** A certificate's facts, read by Node's own parser. `issuer.ts` makes certificates. */
export interface Certificate {
  /** One PEM block with a newline at its end. */
  readonly pem: string;
  /** SHA-256 of the DER form: two certificates are the same one exactly when this is equal. */
  readonly fingerprint: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly isCa: boolean;
  readonly dnsNames: readonly string[];
}

/** A certificate with its private key, as a Secret of type kubernetes.io/tls holds them. */
export interface KeyPair {
  readonly certificate: Certificate;
  readonly keyPem: string;
}

/** Clocks of API servers may be a little behind, so a certificate is valid from this long before it is made. */
export const BACKDATE_MS = 5 * 60_000;

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Every certificate in a PEM text, in order. Other blocks are left out. */
export function parseBundle(pem: string): Certificate[] {
  return (pem.match(PEM_BLOCK) ?? []).flatMap((block) => parseBlock(block) ?? []);
}

/** A bundle in one canonical form, so that equal contents are equal texts. */
export function formatBundle(certificates: readonly Certificate[]): string {
  return certificates.map((certificate) => certificate.pem).join("");
}

/** The pair, or undefined if a half is missing, is not PEM, or does not match the other. */
export function parseKeyPair(certPem: string, keyPem: string): KeyPair | undefined {
  const [certificate] = parseBundle(certPem);
  if (certificate === undefined) return undefined;
  try {
    const belongs = new X509Certificate(certificate.pem).checkPrivateKey(createPrivateKey(keyPem));
    return belongs ? { certificate, keyPem } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the issuer of this folder can sign with this key: keys of another kind come from another product. */
export function isSigningKey(keyPem: string): boolean {
  try {
    return createPrivateKey(keyPem).asymmetricKeyDetails?.namedCurve === "prime256v1";
  } catch {
    return false;
  }
}

/** When a certificate of ours was made. */
export function createdMs(certificate: Certificate): number {
  return certificate.notBeforeMs + BACKDATE_MS;
}

/** Whether `ca` signed `certificate` (signature and names, not dates). */
export function isSignedBy(certificate: Certificate, ca: Certificate): boolean {
  try {
    const leaf = new X509Certificate(certificate.pem);
    const issuer = new X509Certificate(ca.pem);
    return ca.isCa && leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey);
  } catch {
    return false;
  }
}

function parseBlock(block: string): Certificate | undefined {
  try {
    const parsed = new X509Certificate(block);
    return {
      pem: parsed.toString(),
      fingerprint: parsed.fingerprint256,
      notBeforeMs: Date.parse(parsed.validFrom),
      notAfterMs: Date.parse(parsed.validTo),
      isCa: parsed.ca,
      dnsNames: dnsNamesOf(parsed.subjectAltName),
    };
  } catch {
    return undefined;
  }
}

/** Node prints the extension as `DNS:a, DNS:b` and quotes unusual names. Ours are never quoted. */
function dnsNamesOf(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? "").split(", ").flatMap((entry) => (entry.startsWith("DNS:") ? [entry.slice(4)] : []));
}
