/** Field of `NetworkAddonsConfig.spec.linuxBridge` for the lint of NetworkAttachmentDefinitions. */

import { z } from "zod";

export const NAD_LINTS = ["Warn", "Enforce", "Off"] as const;
export type NadLint = (typeof NAD_LINTS)[number];

export const nadLintSetting = z
  .enum(NAD_LINTS)
  .exactOptional()
  .describe(
    "What happens to a NetworkAttachmentDefinition of the plugins bridge and tuning that has a mistake. Warn (the default): who " +
      'writes it reads a warning. Enforce: it is refused. "Off", in YAML with quotes: nobody looks.',
  );

/** How the operator tells the webhook's process. */
export function nadLintEnvironment(lint: NadLint): Record<string, string> {
  return { NAD_LINT: lint };
}

/** The other way round. Off without the variable: then no rights and no webhook configuration go with it either. */
export function readNadLint(env: Readonly<Record<string, string | undefined>>): NadLint {
  return NAD_LINTS.find((known) => known === env.NAD_LINT) ?? "Off";
}
