/** `NetworkAddonsConfig.spec.kubeSecondaryDNS`. Part of the contract (`src/api`). */

import * as z from "zod";
import { celRules } from "./cel.ts";
import { IP_ADDRESS_PATTERN, UNREACHABLE_ADDRESS_PATTERN } from "./ip-address.ts";

const DNS_LABEL = "[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?";

export const DOMAIN_TEXT = "domain has to be a DNS name, for example example.com";
export const NUMBER_DOMAIN_TEXT = `${DOMAIN_TEXT}: its last part can't be a number, as in an IP address`;
export const NAME_SERVER_TEXT = "nameServerIP has to be an IP address";
export const NO_NAME_SERVER_TEXT =
  "nameServerIP has to be an address at which clients reach the name server, such as that of its Service: not unspecified, " +
  "loopback, link-local IPv6, multicast or reserved";

interface TextRule {
  readonly field: "domain" | "nameServerIP";
  readonly pattern: string;
  /** Whether a text that matches is right, or one that does not. */
  readonly isRight: boolean;
  readonly message: string;
}

/** An empty text is right. */
export const SECONDARY_DNS_RULES: readonly TextRule[] = [
  { field: "domain", pattern: `^$|^${DNS_LABEL}([.]${DNS_LABEL})*$`, isRight: true, message: DOMAIN_TEXT },
  // Resolvers take it for an address.
  { field: "domain", pattern: "(^|[.])[0-9]+$", isRight: false, message: NUMBER_DOMAIN_TEXT },
  { field: "nameServerIP", pattern: `^$|${IP_ADDRESS_PATTERN}`, isRight: true, message: NAME_SERVER_TEXT },
  { field: "nameServerIP", pattern: UNREACHABLE_ADDRESS_PATTERN, isRight: false, message: NO_NAME_SERVER_TEXT },
];

const MAX_DOMAIN = 253;
/** Longer than any address, so that each value meets its own rule. */
const MAX_ADDRESS = 64;

export const kubeSecondaryDnsSchema = z
  .object({
    domain: z.string().max(MAX_DOMAIN).exactOptional().describe("Domain of the served names."),
    nameServerIP: z
      .string()
      .max(MAX_ADDRESS)
      .exactOptional()
      .describe("IP address at which clients reach the name server."),
  })
  .meta({
    description: "A name server for secondary interfaces of virtual machines.",
    ...celRules(
      ...SECONDARY_DNS_RULES.map(({ field, pattern, isRight, message }) => ({
        rule: `!has(self.${field}) || ${isRight ? "" : "!"}self.${field}.matches('${pattern}')`,
        message,
        fieldPath: `.${field}`,
      })),
    ),
  });
