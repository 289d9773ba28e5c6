/** OpenShift's TLSSecurityProfile (config.openshift.io/v1), which HCO copies into the NetworkAddonsConfig. */

import { z } from "zod";

const profile = (what: string) => z.object({}).nullable().exactOptional().describe(what);

export const tlsSecurityProfileSchema = z
  .object({
    type: z
      .enum(["", "Old", "Intermediate", "Modern", "Custom"])
      .exactOptional()
      .describe("Old, Intermediate, Modern or Custom. A profile given under custom wins over this field."),
    old: profile("Accepts TLS 1.0 and later, for clients that know nothing newer. Takes no settings."),
    intermediate: profile("Accepts TLS 1.2 and later. Takes no settings."),
    modern: profile("Accepts TLS 1.3 only. Takes no settings."),
    custom: z
      .object({
        ciphers: z
          .array(z.string())
          .nullable()
          .exactOptional()
          .describe("OpenSSL names of the ciphers that may be negotiated below TLS 1.3."),
        minTLSVersion: z
          .enum(["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"])
          .exactOptional()
          .describe("Lowest TLS version that is accepted."),
      })
      .nullable()
      .exactOptional()
      .describe("A profile of your own."),
  })
  .nullable()
  .describe("TLS versions and ciphers of the metrics and webhook servers. When unset: TLS 1.3 only.");

export type TlsSecurityProfile = z.infer<typeof tlsSecurityProfileSchema>;
