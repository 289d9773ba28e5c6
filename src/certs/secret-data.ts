import type { Secret } from "../kube/client/built-in-kinds.ts";
import {
  type Certificate,
  formatBundle,
  isSigningKey,
  type KeyPair,
  parseBundle,
  parseKeyPair,
} from "./certificate.ts";

/** Layout of key pairs and bundles in Secrets, with the fields of the type kubernetes.io/tls. */

const CERTIFICATE = "tls.crt";
const KEY = "tls.key";
/** Beside a CA: every trusted CA, the signing one first. */
const TRUSTED = "ca.crt";

export type SecretData = Readonly<Record<string, string>>;

/** Undefined if the Secret is empty or holds no pair. */
export function readKeyPair(secret: Secret): KeyPair | undefined {
  return parseKeyPair(field(secret, CERTIFICATE), field(secret, KEY));
}

/** Like `readKeyPair`, but only a pair that can sign. A CA of another product may have another kind of key. */
export function readSigningPair(secret: Secret): KeyPair | undefined {
  const pair = readKeyPair(secret);
  return pair !== undefined && isSigningKey(pair.keyPem) ? pair : undefined;
}

export function readTrusted(secret: Secret): Certificate[] {
  return parseBundle(field(secret, TRUSTED));
}

export function keyPairData(pair: KeyPair): SecretData {
  return { [CERTIFICATE]: encode(pair.certificate.pem), [KEY]: encode(pair.keyPem) };
}

export function trustedData(trusted: readonly Certificate[]): SecretData {
  return { [TRUSTED]: encode(formatBundle(trusted)) };
}

export function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}

export function decode(base64: string | undefined): string {
  return Buffer.from(base64 ?? "", "base64").toString("utf8");
}

function field(secret: Secret, name: string): string {
  return decode(secret.data?.[name]);
}
