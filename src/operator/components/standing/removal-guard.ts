/**
 * Refuses a removal in the wrong order. While a NetworkAddonsConfig exists, the namespace and the CRDs cannot be deleted:
 * without them the operator could not remove its components from the nodes and the API server, and webhooks would be left
 * without a server. The guard is in no package, so that no command that deletes one takes it along: it goes with the
 * NetworkAddonsConfig.
 */

import { CRDS } from "../../../api/crds.ts";
import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../../../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../../../api/names.ts";
import { denyingPolicy } from "../../manifests/admission-policy.ts";
import type { Component } from "../component.ts";

const NAME = "cluster-network-addons-removal";
/** Whoever is about to remove everything creates a ConfigMap of this name first. A refusal then leaves everything in place. */
export const REMOVAL_CHECK = NAME;

const REFUSAL =
  `A NetworkAddonsConfig exists. Delete it first (kubectl delete networkaddonsconfig ${NETWORK_ADDONS_CONFIG_NAME}): ` +
  "the operator then removes its components. If the operator is gone, install it again before. " +
  "Repeat this removal when there is no NetworkAddonsConfig any more";

export const removalGuard: Component = {
  name: "removalGuard",
  standing: true,
  render: ({ settings }) => {
    const namespaces = [...new Set([settings.operatorNamespace, settings.operandNamespace])];
    const definitions = CRDS.map((definition) => definition.metadata.name);
    return denyingPolicy({
      name: NAME,
      param: {
        apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS),
        kind: NETWORK_ADDONS_CONFIGS.kind,
        name: NETWORK_ADDONS_CONFIG_NAME,
      },
      matches: [
        match("apiextensions.k8s.io", "customresourcedefinitions", definitions, "DELETE"),
        match("", "namespaces", namespaces, "DELETE"),
        match("", "configmaps", [REMOVAL_CHECK], "CREATE"),
      ],
      conditions: [],
      validations: [{ expression: "false", message: REFUSAL }],
    });
  },
};

function match(apiGroup: string, resource: string, resourceNames: readonly string[], operation: "CREATE" | "DELETE") {
  return { apiGroups: [apiGroup], apiVersions: ["v1"], resources: [resource], resourceNames, operations: [operation] };
}
