/** The rows of the table of wrong specs that have a wrong `kubeSecondaryDNS`. */

import {
  DOMAIN_TEXT,
  NAME_SERVER_TEXT,
  NO_NAME_SERVER_TEXT,
  NUMBER_DOMAIN_TEXT,
} from "../../../src/api/kube-secondary-dns-config.ts";
import { each, type WrongSpec } from "./wrong-spec.ts";

export const WRONG_NAME_SERVERS: readonly WrongSpec[] = [
  ...each(
    ["me", "300.1.1.1", "10.96.0.0/24", "010.96.0.53", "10.96.0", "fe80::1%eth0", "[fd00::53]", "1::2::3"],
    (nameServerIP) => ({
      spec: { kubeSecondaryDNS: { nameServerIP } },
      texts: [NAME_SERVER_TEXT],
    }),
  ),
  ...each(
    [
      ...["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.0.1", "224.0.0.251", "239.1.1.1", "240.0.0.1", "255.255.255.255"],
      ...[
        "::",
        "0:0:0:0:0:0:0:0",
        "::0.0.0.0",
        "::1",
        "0:0::0001",
        "::0.0.0.1",
        "::ffff:127.0.0.1",
        "::FFFF:224.0.0.1",
      ],
      ...["fe80::1", "FEBF:1::2", "ff02::fb", "FF00::1"],
    ],
    (nameServerIP) => ({ spec: { kubeSecondaryDNS: { nameServerIP } }, texts: [NO_NAME_SERVER_TEXT] }),
  ),
  ...each(["10.96.0.53", "example.1", "5"], (domain) => ({
    spec: { kubeSecondaryDNS: { domain } },
    texts: [NUMBER_DOMAIN_TEXT],
  })),
  ...each(
    [
      "two words",
      "a..b",
      ".",
      "example.com.",
      "-a.example",
      "a\nDOMAIN=b",
      "$(HOME)",
      "a/b",
      "a_b",
      `${"a".repeat(64)}.b`,
    ],
    (domain) => ({ spec: { kubeSecondaryDNS: { domain } }, texts: [DOMAIN_TEXT] }),
  ),
];
