/**
 * A certificate that signs itself, for a listener whose clients do not know any authority. Made with Node's own
 * cryptography: with the library that issues the webhooks' certificates, a small process of every node takes 19 MB of memory of
 * its own in place of 11.
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { type Clock, systemClock } from "../kube/clock.ts";
import type { CertificateSource, ServerCertificate } from "../kube/server/certificate-source.ts";
import { BACKDATE_MS } from "./certificate.ts";

/** Tags of ASN.1 (X.690). */
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const DNS_NAME = 0x82;

/** Object identifiers, encoded. */
const ECDSA_WITH_SHA256 = Buffer.from("06082a8648ce3d040302", "hex");
const COMMON_NAME = Buffer.from("0603550403", "hex");
const SUBJECT_ALT_NAME = Buffer.from("0603551d11", "hex");
const EXTENDED_KEY_USAGE = Buffer.from("0603551d25", "hex");
const SERVER_AUTH = Buffer.from("06082b06010505070301", "hex");

const V3 = Buffer.from([INTEGER, 1, 2]);
const SERIAL_BYTES = 16;

const LIFETIME_MS = 7 * 24 * 3_600_000;
const RENEW_AFTER_MS = LIFETIME_MS / 2;

/** A certificate in memory that signs itself. It is renewed long before it expires. */
export class SelfSignedTlsSource implements CertificateSource {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #certificate: ServerCertificate;

  constructor(name: string, clock: Clock = systemClock) {
    this.#name = name;
    this.#clock = clock;
    this.#certificate = this.#issue();
  }

  current(): ServerCertificate {
    return this.#certificate;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Renews until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(RENEW_AFTER_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#certificate = this.#issue();
      for (const listener of this.#listeners) listener();
    }
  }

  #issue(): ServerCertificate {
    return selfSigned({ name: this.#name, nowMs: this.#clock.now(), lifetimeMs: LIFETIME_MS });
  }
}

export interface SelfSignedRequest {
  readonly name: string;
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

/** RFC 5280 4.1. */
export function selfSigned({ name, nowMs, lifetimeMs }: SelfSignedRequest): ServerCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const notAfterMs = nowMs + lifetimeMs;
  const algorithm = der(SEQUENCE, ECDSA_WITH_SHA256);
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(name)))));
  const alternatives = der(SEQUENCE, der(DNS_NAME, Buffer.from(name)));
  const signed = der(
    SEQUENCE,
    der(VERSION, V3),
    der(INTEGER, serialNumber()),
    algorithm,
    subject,
    der(SEQUENCE, time(nowMs - BACKDATE_MS), time(notAfterMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      EXTENSIONS,
      der(
        SEQUENCE,
        der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTET_STRING, alternatives)),
        der(SEQUENCE, EXTENDED_KEY_USAGE, der(OCTET_STRING, der(SEQUENCE, SERVER_AUTH))),
      ),
    ),
  );
  const signature = der(BIT_STRING, Buffer.from([0]), sign("sha256", signed, privateKey));
  return {
    cert: pem(der(SEQUENCE, signed, algorithm, signature)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
    notAfterMs,
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...long]), content]);
}

/** Positive and without a zero in front. */
function serialNumber(): Buffer {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

/** With two digits of the year, as RFC 5280 asks for until 2050. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, "").slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
