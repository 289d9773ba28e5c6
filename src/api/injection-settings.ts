/** What the webhook that makes pods request their bridges is told in its environment. Without zod, which its process does not load. */

export const UNUSABLE_NETWORKS = ["Deny", "Warn"] as const;
export type UnusableNetworks = (typeof UNUSABLE_NETWORKS)[number];

/** What multus takes for global where its configuration names no namespaces. */
export const DEFAULT_GLOBAL_NAMESPACES: readonly string[] = ["default"];

/** How the operator tells the webhook's process. */
export interface InjectionSettings {
  readonly unusableNetworks: UnusableNetworks;
  /** Undefined where multus does not isolate namespaces. */
  readonly globalNamespaces: readonly string[] | undefined;
}

export function injectionEnvironment({
  unusableNetworks,
  globalNamespaces,
}: InjectionSettings): Record<string, string> {
  return {
    UNUSABLE_NETWORKS: unusableNetworks,
    ...(globalNamespaces === undefined ? {} : { GLOBAL_NAMESPACES: globalNamespaces.join(",") }),
  };
}

/** The other way round. */
export function readInjectionSettings(env: Readonly<Record<string, string | undefined>>): InjectionSettings {
  return {
    unusableNetworks: UNUSABLE_NETWORKS.find((known) => known === env.UNUSABLE_NETWORKS) ?? "Deny",
    globalNamespaces: env.GLOBAL_NAMESPACES?.split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  };
}
