/**
 * What a node daemon does with what it left on its node when it is told to stop. A restart, an upgrade and a deleted
 * DaemonSet look the same from inside the pod; only the NetworkAddonsConfig, read live, tells whether the component was
 * taken away for good. Anything doubtful keeps: a file too many does no harm, a missing CNI plugin does.
 */

/** The configuration as read from the API server at that moment, or why there is none. */
export type LiveConfig =
  | {
      readonly kind: "found";
      readonly config: {
        readonly metadata?: { readonly deletionTimestamp?: string };
        readonly spec?: Readonly<Record<string, unknown>>;
      };
    }
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
      if (live.config.metadata?.deletionTimestamp !== undefined) {
        return { action: "remove", reason: "the NetworkAddonsConfig is being deleted" };
      }
      const asked = live.config.spec?.[component];
      return asked === undefined || asked === null
        ? { action: "remove", reason: `${component} is not in the NetworkAddonsConfig any more` }
        : { action: "keep", reason: `${component} is still in the NetworkAddonsConfig` };
    }
  }
}
