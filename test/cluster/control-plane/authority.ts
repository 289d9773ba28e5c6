/**
 * The certificate authority of one cluster. Its keys are elliptic, because a dozen such certificates take 40 ms.
 */
import "reflect-metadata";
import { generateKeyPairSync, randomBytes, type webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const LIFETIME_MS = 30 * 24 * 3600 * 1000;
/** Room for clocks that differ. */
const BACKDATE_MS = 3600 * 1000;

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** Kubernetes' user name, for a client certificate. */
  readonly commonName: string;
  /** Kubernetes' groups. */
  readonly groups?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly addresses?: readonly string[];
  readonly usage: readonly ("client" | "server")[];
}

const USAGES = { client: x509.ExtendedKeyUsage.clientAuth, server: x509.ExtendedKeyUsage.serverAuth };

export class Authority {
  /** The CA's own certificate, PEM. */
  readonly certificate: string;
  readonly #certificate: x509.X509Certificate;
  readonly #keys: webcrypto.CryptoKeyPair;

  private constructor(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.#certificate = certificate;
    this.#keys = keys;
    this.certificate = `${certificate.toString("pem")}\n`;
  }

  static async create(commonName: string): Promise<Authority> {
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: [{ CN: [commonName] }],
      ...validity(),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new Authority(certificate, keys);
  }

  /** The same authority in another process. */
  static async restore({ cert, key }: KeyPair): Promise<Authority> {
    const certificate = new x509.X509Certificate(cert);
    const privateKey = await crypto.subtle.importKey("pkcs8", pemBytes(key), ALGORITHM, true, ["sign"]);
    return new Authority(certificate, { privateKey, publicKey: await certificate.publicKey.export() });
  }

  async issue(request: CertificateRequest): Promise<KeyPair> {
    const keys = await generateKeys();
    const names = [
      ...(request.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
      ...(request.addresses ?? []).map((value) => ({ type: "ip" as const, value })),
    ];
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: [...(request.groups ?? []).map((group) => ({ O: [group] })), { CN: [request.commonName] }],
      issuer: this.#certificate.subject,
      ...validity(),
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(request.usage.map((usage) => USAGES[usage])),
        await x509.AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
        ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      ],
    });
    return { cert: `${certificate.toString("pem")}\n`, key: await privateKeyPem(keys.privateKey) };
  }

  privateKey(): Promise<string> {
    return privateKeyPem(this.#keys.privateKey);
  }
}

/** Keys that sign and verify service-account tokens, PEM. */
export function tokenKeys(): { readonly privateKey: string; readonly publicKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "sec1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

const generateKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

const validity = (): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() - BACKDATE_MS),
  notAfter: new Date(Date.now() + LIFETIME_MS),
});

/** Positive, and random so that certificates made at the same moment differ. */
const serialNumber = (): string => `01${randomBytes(12).toString("hex")}`;

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

function pemBytes(pem: string): ArrayBuffer {
  const [bytes] = x509.PemConverter.decode(pem);
  if (bytes === undefined) throw new Error("no PEM block");
  return bytes;
}
