/** Where a daemon on the nodes' network answers probes. Pure. */

import type { ProbeAddress } from "../../api/node-ports.ts";
import { type EnvVar, env, fieldEnv, type PodOptions } from "./workload.ts";

/** Environment variable with the address that the listener is bound to. */
export const HEALTH_HOST = "HEALTH_HOST";
export const LOOPBACK = "127.0.0.1";

export interface NodeProbes {
  readonly pod: Pick<PodOptions, "healthPort" | "healthHost" | "ports">;
  readonly env: readonly EnvVar[];
}

/** `address`: a `ProbeAddress`, or nothing. A port of 0 means no listener. Kubelet calls from the node itself, so that loopback is near enough. */
export function nodeProbes(address: string | undefined, healthPort: number): NodeProbes {
  const ports: PodOptions["ports"] = healthPort === 0 ? {} : { health: healthPort };
  return address === ("Loopback" satisfies ProbeAddress)
    ? { pod: { healthPort, healthHost: LOOPBACK, ports }, env: env({ [HEALTH_HOST]: LOOPBACK }) }
    : { pod: { healthPort, ports }, env: [fieldEnv(HEALTH_HOST, "status.hostIP")] };
}
