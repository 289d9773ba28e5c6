/**
 * What a node daemon does with what it left on its node when it is told to stop. A restart, an upgrade and a deleted
 * DaemonSet look the same from inside the pod; only the NetworkAddonsConfig, read live, tells whether the component was
 * taken away for good. Anything doubtful keeps: a file too many does no harm, a missing CNI plugin does.
 */

import { NETWORK_ADDONS_CONFIG_NAME } from "./names.ts";

/** A NetworkAddonsConfig as it comes over the wire, as far as it matters here. */
export interface RawConfig {
  readonly metadata: { readonly deletionTimestamp?: string | undefined };
  readonly spec?: unknown;
}

/** The configuration as read from the API server at that moment, or why there is none. */
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
      return { action: "remove", reason: "there is no NetworkAddonsConfig any more" };
    case "found": {
      if (live.config.metadata.deletionTimestamp !== undefined) {
        return { action: "remove", reason: "the NetworkAddonsConfig is being deleted" };
      }
      const asked = (live.config.spec as Readonly<Record<string, unknown>> | undefined)?.[component];
      return asked === undefined || asked === null
        ? { action: "remove", reason: `${component} is not in the NetworkAddonsConfig any more` }
        : { action: "keep", reason: `${component} is still in the NetworkAddonsConfig` };
    }
  }
}

/** Runs the read and sorts its outcome; never throws. */
export async function readLiveConfig(get: () => Promise<RawConfig>): Promise<LiveConfig> {
  try {
    return { kind: "found", config: await get() };
  } catch (error) {
    if (saysNoSuchConfig(error)) return { kind: "absent" };
    return { kind: "unreachable", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** A server that does not know the kind (yet) answers 404 too, but names no object: that says nothing. */
function saysNoSuchConfig(error: unknown): boolean {
  const { status, details } = (error ?? {}) as { status?: unknown; details?: { name?: unknown } };
  return status === 404 && details?.name === NETWORK_ADDONS_CONFIG_NAME;
}
