/**
 * Whether a stopping node daemon removes its files and resources from the node. A restart, an upgrade and a deleted
 * DaemonSet look the same from inside the pod. Only a live read of the NetworkAddonsConfig shows that the component was
 * removed. In doubt everything stays: a file too many does no harm, a missing CNI plugin does.
 */

import { NETWORK_ADDONS_CONFIG_NAME } from "./names.ts";

/** The fields of a NetworkAddonsConfig that matter here. */
export interface RawConfig {
  readonly metadata: { readonly deletionTimestamp?: string | undefined };
  readonly spec?: unknown;
}

/** The configuration from a live read, or the reason why there is none. */
export type LiveConfig =
  | { readonly kind: "found"; readonly config: RawConfig }
  | { readonly kind: "absent" }
  | { readonly kind: "unreachable"; readonly reason: string };

export interface ShutdownDecision {
  readonly action: "keep" | "remove";
  /** One sentence for the log. */
  readonly reason: string;
}

/** `component` is a key of NetworkAddonsConfig.spec. */
export function decideAtShutdown(component: string, live: LiveConfig): ShutdownDecision {
  switch (live.kind) {
    case "unreachable":
      return { action: "keep", reason: `the NetworkAddonsConfig could not be read: ${live.reason}` };
    case "absent":
      return { action: "remove", reason: "the NetworkAddonsConfig no longer exists" };
    case "found": {
      if (live.config.metadata.deletionTimestamp !== undefined) {
        return { action: "remove", reason: "the NetworkAddonsConfig is being deleted" };
      }
      const asked = (live.config.spec as Readonly<Record<string, unknown>> | undefined)?.[component];
      return asked === undefined || asked === null
        ? { action: "remove", reason: `${component} is no longer in the NetworkAddonsConfig` }
        : { action: "keep", reason: `${component} is still in the NetworkAddonsConfig` };
    }
  }
}

/** Runs the read and classifies its outcome. Never throws. */
export async function readLiveConfig(get: () => Promise<RawConfig>): Promise<LiveConfig> {
  try {
    return { kind: "found", config: await get() };
  } catch (error) {
    if (saysNoSuchConfig(error)) return { kind: "absent" };
    return { kind: "unreachable", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** A server that does not serve the kind answers 404 too, but names no object. Such an answer proves nothing. */
function saysNoSuchConfig(error: unknown): boolean {
  const { status, details } = (error ?? {}) as { status?: unknown; details?: { name?: unknown } };
  return status === 404 && details?.name === NETWORK_ADDONS_CONFIG_NAME;
}
