/**
 * The parts of the plugin's bytecode. `main.ts` is loaded by every call, a part by the calls that need it: reading
 * bytecode is most of what a short call costs. Whoever imports a part's file in another way than here, for more than its
 * types, makes it part of his own.
 */

import type { Host } from "../host/host.ts";

export interface Parts {
  readonly bridge: typeof import("./bridge.ts");
  readonly add: typeof import("./add.ts");
  readonly del: typeof import("./del.ts");
  readonly check: typeof import("./check.ts");
  readonly gc: typeof import("./gc.ts");
  readonly status: typeof import("./status.ts");
  readonly delegate: typeof import("../protocol/delegate.ts");
  readonly "container-steps": typeof import("./container-steps.ts");
  readonly "gateway-steps": typeof import("./gateway-steps.ts");
  readonly "iptables-rules": typeof import("./iptables-rules.ts");
  readonly "masquerade-iptables": typeof import("./masquerade-iptables.ts");
  readonly "masquerade-nftables": typeof import("./masquerade-nftables.ts");
  readonly "masquerade-steps": typeof import("./masquerade-steps.ts");
  readonly "spoof-check": typeof import("./spoof-check.ts");
  readonly "spoof-check-steps": typeof import("./spoof-check-steps.ts");
  readonly "unrecorded-rules": typeof import("./unrecorded-rules.ts");
  readonly "vlan-steps": typeof import("./vlan-steps.ts");
}

/** Relative to this file. */
export const PART_FILES: Readonly<Record<keyof Parts, string>> = {
  bridge: "./bridge.ts",
  add: "./add.ts",
  del: "./del.ts",
  check: "./check.ts",
  gc: "./gc.ts",
  status: "./status.ts",
  delegate: "../protocol/delegate.ts",
  "container-steps": "./container-steps.ts",
  "gateway-steps": "./gateway-steps.ts",
  "iptables-rules": "./iptables-rules.ts",
  "masquerade-iptables": "./masquerade-iptables.ts",
  "masquerade-nftables": "./masquerade-nftables.ts",
  "masquerade-steps": "./masquerade-steps.ts",
  "spoof-check": "./spoof-check.ts",
  "spoof-check-steps": "./spoof-check-steps.ts",
  "unrecorded-rules": "./unrecorded-rules.ts",
  "vlan-steps": "./vlan-steps.ts",
};

export function load<P extends keyof Parts>(host: Host, part: P): Parts[P] {
  return host.load(part) as Parts[P];
}
