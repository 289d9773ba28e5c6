/**
 * The lint of NetworkAttachmentDefinitions, for the plugins `bridge` and `tuning`: what will happen to pods of a network, and
 * what to write instead. A library of pure functions on text, for the admission webhook and `kubectl macpool lint`. It reads
 * configurations with the plugins' own parser, so that it can't disagree with an ADD. Of other plugins it reads MAC addresses only.
 */

/**
 * `error`: the network does not work, or not as written; Enforce refuses it. `warning`: that depends on the cluster or on its
 * pods. `note`: nothing is wrong, and something is good to know; admission does not show it.
 */
export type Severity = "error" | "warning" | "note";

/** By what they cost, the worst first: findings are given in this order. */
const SEVERITIES = {
  "config-unreadable": "error",
  "plugin-refuses": "error",
  "ipam-refuses": "error",
  "address-refused": "error",
  "route-refused": "error",
  "resource-differs": "error",
  "mac-in-network": "error",
  "vlan-in-trunk": "error",
  "key-ignored": "error",
  "ipam-without-addresses": "warning",
  "sysctl-of-interface": "warning",
  "plugins-unseen": "warning",
  "bridge-on-no-node": "warning",
  "bridge-not-now": "warning",
  "resource-missing": "warning",
  "bridge-unpublishable": "warning",
  "vlan-impossible": "warning",
  "vlan-unfiltered": "warning",
  "vlan-not-on-uplink": "warning",
  "mtu-above-bridge": "warning",
  "mtu-below-bridge": "warning",
  "mtu-above-port": "warning",
  "ipam-of-vm": "warning",
  "allowed-macs-wide": "warning",
  "allowed-macs-of-pool": "warning",
  "same-network": "warning",
  "value-quoted": "warning",
  "no-uplink": "note",
  "key-without-effect": "note",
  "ipam-maybe-of-vm": "note",
  "advertisements-beside-ipam": "note",
  "vlan-needs-filtering": "note",
  "vlan-1-kept": "note",
  "mtu-needs-bridge": "note",
} as const satisfies Readonly<Record<string, Severity>>;

export type FindingCode = keyof typeof SEVERITIES;

export const FINDING_CODES = Object.keys(SEVERITIES) as FindingCode[];

export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** One line of printable text: what and where in the object, what will happen, what to write instead. */
  readonly message: string;
}

/** What a terminal or a log would take for something else than text. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** No word of ours is that long, and hardly a name: tenants write values without measure. */
const LONG_WORD = /\S{121,}/g;
const MAX_WORD_CHARS = 100;
const MAX_MESSAGE_CHARS = 500;
/** Where it is too long, the start of a message names the place, and the rest says reason and remedy. */
const START_CHARS = 200;
const CUT = "...";

export function finding(code: FindingCode, message: string): Finding {
  const words = message.replace(LONG_WORD, shortWord);
  return { code, severity: SEVERITIES[code], message: withoutMiddle(words).replace(UNPRINTABLE, " ") };
}

/** With what stands behind the value, such as a quote and a colon. */
function shortWord(word: string): string {
  return `${word.slice(0, MAX_WORD_CHARS)}${CUT}${word.slice(-2)}`;
}

function withoutMiddle(text: string): string {
  if (text.length <= MAX_MESSAGE_CHARS) return text;
  return `${text.slice(0, START_CHARS)}${CUT}${text.slice(START_CHARS + CUT.length - MAX_MESSAGE_CHARS)}`;
}

/** Stable: those of one code stay in the order of the configuration. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => FINDING_CODES.indexOf(a.code) - FINDING_CODES.indexOf(b.code));
}
