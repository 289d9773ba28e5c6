/** Fields of `NetworkAddonsConfig.spec.linuxBridge` for its webhook: injection of bridges into pods, lint of networks. */

import * as z from "zod";
import { celRules } from "./cel.ts";
import { UNUSABLE_NETWORKS } from "./injection-settings.ts";
import { LABEL_PATTERN, MAX_LABEL } from "./legal-names.ts";
import { NAD_LINTS } from "./nad-lint-setting.ts";

export const namespaceText = (found: string): string =>
  `globalNamespaces has to hold names of namespaces, found "${found}"`;

const MAX_GLOBAL_NAMESPACES = 64;

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
        "Default: false, on OpenShift true.",
    ),
  globalNamespaces: z
    .array(
      z
        .string()
        .max(MAX_LABEL)
        .meta(
          celRules({
            rule: `self.matches('${LABEL_PATTERN}')`,
            messageExpression: `'${namespaceText("' + self + '")}'`,
            message: namespaceText(".."),
          }),
        ),
    )
    .max(MAX_GLOBAL_NAMESPACES)
    .exactOptional()
    .describe(
      "Namespaces whose networks all pods may use under namespaceIsolation: globalNamespaces of multus' configuration. " +
        "Default: the namespace default, on OpenShift those of its multus.",
    ),
};

export const nadLintSetting = z
  .enum(NAD_LINTS)
  .exactOptional()
  .describe(
    "What happens to a NetworkAttachmentDefinition of the plugins bridge and tuning that has a mistake. Warn (the default): the " +
      'user reads a warning. Enforce: the network is refused. "Off", in YAML with quotes: networks are not checked.',
  );
