import type { TlsSecurityProfile } from "../api/tls-security-profile.ts";
import type { TlsLimits } from "../kube/server/certificate-source.ts";

/** OpenShift's TLS security profiles as options of a Node listener. */

const TYPES: readonly unknown[] = ["", "Old", "Intermediate", "Modern", "Custom"];

/** Always offered: the profiles leave TLS 1.3 ciphers to the library, and without any Node turns TLS 1.3 off. */
const TLS_13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

const INTERMEDIATE = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "DHE-RSA-AES128-GCM-SHA256",
  "DHE-RSA-AES256-GCM-SHA384",
];

const OLD = [
  ...INTERMEDIATE,
  "DHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-SHA256",
  "ECDHE-RSA-AES128-SHA256",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-ECDSA-AES256-SHA384",
  "ECDHE-RSA-AES256-SHA384",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
  "DHE-RSA-AES128-SHA256",
  "DHE-RSA-AES256-SHA256",
  "AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-SHA256",
  "AES256-SHA256",
  "AES128-SHA",
  "AES256-SHA",
  "DES-CBC3-SHA",
];

const VERSIONS = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
} as const;

/**
 * The profile that an object's field says; throws for what is none. The definition has a schema for it, with zod: that takes 4 MB
 * of memory of each process that loads it, and so it is for the operator alone.
 */
export function readTlsProfile(value: unknown): TlsSecurityProfile | undefined {
  if (isAbsent(value)) return undefined;
  const { type, custom, ...named } = fieldsOf(value);
  if (type !== undefined && !TYPES.includes(type)) throw new Error(`unknown type ${JSON.stringify(type)}`);
  for (const name of ["old", "intermediate", "modern"]) if (!isAbsent(named[name])) fieldsOf(named[name]);
  if (!isAbsent(custom)) checkCustom(fieldsOf(custom));
  return value as TlsSecurityProfile;
}

function checkCustom({ ciphers, minTLSVersion }: Fields): void {
  const areNames = isAbsent(ciphers) || (Array.isArray(ciphers) && ciphers.every((name) => typeof name === "string"));
  if (!areNames) throw new Error("custom.ciphers is no list of names");
  const isVersion = minTLSVersion === undefined || Object.keys(VERSIONS).includes(String(minTLSVersion));
  if (!isVersion) throw new Error(`unknown custom.minTLSVersion ${JSON.stringify(minTLSVersion)}`);
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${JSON.stringify(value)} is no object`);
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** `custom` takes precedence over `type`. Without both the profile is Modern. */
export function tlsLimits(profile: TlsSecurityProfile | undefined): TlsLimits {
  const custom = profile?.custom;
  if (custom !== undefined && custom !== null) {
    return limits(VERSIONS[custom.minTLSVersion ?? "VersionTLS12"], custom.ciphers ?? INTERMEDIATE);
  }
  switch (profile?.type) {
    case "Old":
      return limits("TLSv1", OLD);
    case "Intermediate":
    case "Custom":
      return limits("TLSv1.2", INTERMEDIATE);
    default:
      return limits("TLSv1.3", []);
  }
}

function limits(minVersion: TlsLimits["minVersion"], ciphers: readonly string[]): TlsLimits {
  const older = minVersion === "TLSv1.3" ? [] : ciphers.filter((cipher) => !TLS_13.includes(cipher));
  // OpenSSL speaks TLS 1.0 and 1.1 at its lowest security level only.
  const level = minVersion === "TLSv1" || minVersion === "TLSv1.1" ? ["@SECLEVEL=0"] : [];
  return { minVersion, ciphers: [...TLS_13, ...older, ...level].join(":") };
}
