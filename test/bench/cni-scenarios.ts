/** What is measured of the bridge plugin, with the goals. */

import type { Measurement } from "./cni-timer.ts";

export interface Scenario extends Pick<Measurement, "command" | "rounds" | "parallel" | "del"> {
  readonly what: string;
  readonly goal: number | null;
  /** Added to the configuration of a layer 2 attachment. */
  readonly keys?: object;
}

const MANY = 50;
const HUNDRED = 100;

/** `DATA` stands for a directory of the run's own. */
const IPAM = { ipam: { type: "host-local", dataDir: "DATA", ranges: [[{ subnet: "10.88.0.0/16" }]] } };
const MASQUERADE = { ...IPAM, isGateway: true, ipMasq: true, ipMasqBackend: "nftables" };

/** Spoof-checked attachments that a node may have. */
export const CHECKED = [1, 300, 1000];
/** The most that the cost may grow from the fewest to the most of them. */
export const FLAT = 1.5;

const CHECK_SPOOFING = { rounds: 40, parallel: 1, del: true, keys: { macspoofchk: true } } as const;

/** On nodes with that many each. The goal is of the second number. */
export const SPOOF_CHECKS: readonly Scenario[] = [
  { what: "ADD with macspoofchk", command: "ADD", goal: 0.15, ...CHECK_SPOOFING },
  { what: "DEL with macspoofchk", command: "DEL", goal: 0.35, ...CHECK_SPOOFING },
];

const ONE = { rounds: 60, parallel: 1, del: true } as const;

export const VERSION: Scenario = { what: "VERSION", command: "VERSION", rounds: 300, parallel: 1, goal: 0.6 };
export const LAYER_2_ADD: Scenario = { what: "L2 ADD", command: "ADD", rounds: 150, parallel: 1, goal: 0.65 };
export const LAYER_2_DEL: Scenario = { what: "L2 DEL", command: "DEL", rounds: 300, parallel: 1, goal: 1 };

/** All that one attachment without VLANs can have. */
export const EVERYTHING = {
  ...{ ...MASQUERADE, isDefaultGateway: true, macspoofchk: true, enabledad: true, hairpinMode: true },
  dns: { nameservers: ["10.88.0.1"] },
};

export const SCENARIOS: readonly Scenario[] = [
  VERSION,
  LAYER_2_ADD,
  { what: `${MANY} L2 ADDs at once`, command: "ADD", rounds: 20, parallel: MANY, goal: 0.6 },
  { what: `${HUNDRED} L2 ADDs at once`, command: "ADD", rounds: 10, parallel: HUNDRED, goal: 0.6 },
  LAYER_2_DEL,
  { what: `${MANY} L2 DELs at once`, command: "DEL", rounds: 20, parallel: MANY, goal: 1 },
  { what: "ADD with host-local", command: "ADD", ...ONE, goal: 0.75, keys: IPAM },
  { what: "ADD with ipMasq (nftables)", command: "ADD", ...ONE, rounds: 20, goal: 0.4, keys: MASQUERADE },
];
