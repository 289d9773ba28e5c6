/** Fields of `NetworkAddonsConfig.spec.linuxBridge` for the webhook that makes pods request their bridges. */

import { z } from "zod";

const UNUSABLE_NETWORKS = ["Deny", "Warn"] as const;
export type UnusableNetworks = (typeof UNUSABLE_NETWORKS)[number];

/** What multus takes for global where its configuration names no namespaces. */
export const DEFAULT_GLOBAL_NAMESPACES: readonly string[] = ["default"];

const MAX_GLOBAL_NAMESPACES = 64;
const MAX_NAMESPACE_CHARS = 63;

export const injectionSettings = {
  unusableNetworks: z
    .enum(UNUSABLE_NETWORKS)
    .exactOptional()
    .describe(
      "What happens to a new pod that names a NetworkAttachmentDefinition which does not exist or which it may not use. Deny " +
        "(the default): the pod is refused. Warn: it is admitted with a warning, and stays in ContainerCreating.",
    ),
  namespaceIsolation: z
    .boolean()
    .exactOptional()
    .describe(
      "Whether multus runs with namespaceIsolation, so that pods may use networks of their own and of global namespaces only. " +
        "False when unset, on OpenShift true.",
    ),
  globalNamespaces: z
    .array(z.string().max(MAX_NAMESPACE_CHARS))
    .max(MAX_GLOBAL_NAMESPACES)
    .exactOptional()
    .describe(
      "Namespaces whose networks all pods may use under namespaceIsolation: globalNamespaces of multus' configuration. default " +
        "when unset, on OpenShift those of its multus.",
    ),
};

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
