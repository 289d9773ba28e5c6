/** OpenShift's TLSSecurityProfile (config.openshift.io/v1), which HCO copies into the NetworkAddonsConfig. */

import * as z from "zod";
import { celRules } from "./cel.ts";

/** Names of OpenSSL have parts with dashes between them. Its keywords and lists, which can weaken a server, do not. */
export const CIPHER_NAME_PATTERN = "^([A-Z0-9]+(-[A-Z0-9]+)+|TLS_[A-Z0-9_]+)$";
export const cipherText = (found: string): string =>
  `ciphers has to hold names of OpenSSL, for example ECDHE-RSA-AES128-GCM-SHA256, found "${found}"`;

export const CUSTOM_PROFILE_TEXT = "tlsSecurityProfile of type Custom needs custom, with its ciphers and minTLSVersion";

const MAX_CIPHERS = 200;
const MAX_CIPHER_NAME = 64;

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
          .array(
            z
              .string()
              .max(MAX_CIPHER_NAME)
              .meta(
                celRules({
                  rule: `self.matches('${CIPHER_NAME_PATTERN}')`,
                  messageExpression: `'${cipherText("' + self + '")}'`,
                  message: cipherText(".."),
                }),
              ),
          )
          .max(MAX_CIPHERS)
          .nullable()
          .exactOptional()
          .describe(
            "OpenSSL names of the ciphers that may be negotiated below TLS 1.3. Default: those of Intermediate, which are for TLS 1.2.",
          ),
        minTLSVersion: z
          .enum(["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"])
          .exactOptional()
          .describe(
            "Lowest TLS version that is accepted. Default: VersionTLS12. A version below it needs ciphers of its own.",
          ),
      })
      .nullable()
      .exactOptional()
      .describe("A profile of your own."),
  })
  .nullable()
  .meta({
    description: "TLS versions and ciphers of the metrics and webhook servers. Default: TLS 1.3 only.",
    ...celRules({
      rule: "!has(self.type) || self.type != 'Custom' || (has(self.custom) && self.custom != null)",
      message: CUSTOM_PROFILE_TEXT,
    }),
  });

export type TlsSecurityProfile = z.infer<typeof tlsSecurityProfileSchema>;
