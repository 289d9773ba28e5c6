/** What the lint of NetworkAttachmentDefinitions is told in its environment. Without zod, which its process does not load. */

export const NAD_LINTS = ["Warn", "Enforce", "Off"] as const;
export type NadLint = (typeof NAD_LINTS)[number];

/** How the operator tells the webhook's process. */
export function nadLintEnvironment(lint: NadLint): Record<string, string> {
  return { NAD_LINT: lint };
}

/** The other way round. Off without the variable: then no rights and no webhook configuration go with it either. */
export function readNadLint(env: Readonly<Record<string, string | undefined>>): NadLint {
  return NAD_LINTS.find((known) => known === env.NAD_LINT) ?? "Off";
}
