/**
 * The operator's own rights, computed from what it can render. It writes only objects that it knows by name, and it holds
 * the rights of its components, because RBAC lets nobody grant more than they have. Pure.
 */

import {
  APPLIED_CONFIG_MAP,
  LINUX_BRIDGE_CERT_MANAGER,
  MAC_POOL_MANAGER,
  MAC_POOL_RANGE_CONFIG_MAP,
  NETWORK_ADDONS_CONFIG_NAME,
  NETWORK_ADDONS_GROUP,
  OPERATOR_NAME,
} from "../../api/names.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import { type AppliedKind, appliedKind } from "../apply/applied-kinds.ts";
import { INVENTORY_CONFIG_MAP } from "../config/records.ts";
import { OTHER_POOL_LEASE } from "../watch/other-operators.ts";
import { API_SERVER_SLICE, NETWORKS, OPENSHIFT_NETWORK_NAME } from "../watch/platform.ts";
import { ASK_WHO_MAY, FOLLOW, holdLease, type PathRule, READ, type Rule, rule } from "./rbac.ts";

export interface OperatorAccess {
  readonly cluster: readonly (Rule | PathRule)[];
  readonly namespaced: readonly Rule[];
}

/** A predecessor may be in any namespace. Its webhook configuration is seen with ours. */
const SEE_OTHER_OPERATORS: readonly Rule[] = [
  rule("apps", ["deployments"], FOLLOW, [OPERATOR_NAME, MAC_POOL_MANAGER]),
  rule("coordination.k8s.io", ["leases"], FOLLOW, [OPERATOR_NAME, OTHER_POOL_LEASE]),
  rule("", ["configmaps"], ["get"], [MAC_POOL_RANGE_CONFIG_MAP]),
];

/** What an earlier build applied and this one removes. */
const FORMER_ROLES = rule(
  "rbac.authorization.k8s.io",
  ["clusterroles", "clusterrolebindings"],
  ["delete"],
  [LINUX_BRIDGE_CERT_MANAGER],
);
const FORMER_OBJECTS: readonly Rule[] = [
  rule("apps", ["deployments"], ["delete"], [LINUX_BRIDGE_CERT_MANAGER]),
  rule("", ["serviceaccounts"], ["delete"], [LINUX_BRIDGE_CERT_MANAGER]),
  rule("", ["services"], ["delete"], [`${LINUX_BRIDGE_CERT_MANAGER}-metrics`]),
  rule("rbac.authorization.k8s.io", ["roles", "rolebindings"], ["delete"], [LINUX_BRIDGE_CERT_MANAGER]),
  rule(
    "networking.k8s.io",
    ["networkpolicies"],
    ["delete"],
    [`${LINUX_BRIDGE_CERT_MANAGER}-allow-ingress-to-metrics-endpoint`],
  ),
];

/** `prerequisites`: names of CRDs of other products that it watches. */
export function operatorAccess(everything: readonly KubeObject[], prerequisites: readonly string[]): OperatorAccess {
  const clusterWide = everything.filter(({ metadata }) => metadata.namespace === undefined);
  const inNamespace = everything.filter(({ metadata }) => metadata.namespace !== undefined);
  return {
    cluster: distinct([
      config("networkaddonsconfigs", [...FOLLOW, "patch"]),
      config("networkaddonsconfigs/status", ["patch"]),
      // Asked of whoever makes the configuration the owner of an object whose deletion it then waits for.
      config("networkaddonsconfigs/finalizers", ["update"]),
      // Asked of whoever writes a policy with the kind as its parameter.
      rule(NETWORK_ADDONS_GROUP, ["networkaddonsconfigs"], ["get"]),
      rule("", ["nodes"], FOLLOW),
      rule(RESOURCES.crds.group, [RESOURCES.crds.plural], FOLLOW, prerequisites),
      rule("", ["namespaces"], FOLLOW),
      rule(NETWORKS.group, [NETWORKS.plural], READ, [OPENSHIFT_NETWORK_NAME]),
      rule("events.k8s.io", ["events"], ["create", "patch"]),
      rule("events.k8s.io", ["events"], ["list"]),
      rule("discovery.k8s.io", ["endpointslices"], FOLLOW, [API_SERVER_SLICE]),
      ...ASK_WHO_MAY,
      ...SEE_OTHER_OPERATORS,
      FORMER_ROLES,
      ...rulesToApply(clusterWide),
      ...rulesOf<Rule | PathRule>(everything, "ClusterRole"),
    ]),
    namespaced: distinct([
      holdLease(OPERATOR_NAME),
      rule("", ["configmaps"], ["get", "create", "patch", "delete"], [APPLIED_CONFIG_MAP, INVENTORY_CONFIG_MAP]),
      rule("", ["pods"], FOLLOW),
      ...FORMER_OBJECTS,
      ...rulesToApply(inNamespace),
      ...rulesOf(everything, "Role"),
    ]),
  };
}

function config(resource: string, verbs: readonly string[]): Rule {
  return rule(NETWORK_ADDONS_GROUP, [resource], verbs, [NETWORK_ADDONS_CONFIG_NAME]);
}

function rulesToApply(objects: readonly KubeObject[]): Rule[] {
  const byResource = new Map<string, AppliedKind & { readonly names: string[] }>();
  for (const object of objects) {
    const applied = appliedKind(object);
    const key = `${applied.resource.group}/${applied.resource.plural}`;
    const known = byResource.get(key);
    const { name = "" } = object.metadata;
    if (known === undefined) byResource.set(key, { ...applied, names: [name] });
    else if (!known.names.includes(name)) known.names.push(name);
  }
  return [...byResource.values()].flatMap(({ resource: { group, plural }, removal, whole, watchedByName, names }) => {
    const replaced = whole ? ["update"] : [];
    const removed = removal === undefined ? [] : ["delete"];
    const written = ["get", "create", ...replaced, "patch", ...removed];
    if (watchedByName) return [rule(group, [plural], [...FOLLOW, ...written], names)];
    return [rule(group, [plural], FOLLOW), rule(group, [plural], written, names)];
  });
}

function rulesOf<R extends Rule | PathRule = Rule>(objects: readonly KubeObject[], kind: string): R[] {
  return objects.filter((object) => object.kind === kind).flatMap(({ rules }) => rules as readonly R[]);
}

function distinct<R>(rules: readonly R[]): R[] {
  return [...new Map(rules.map((candidate) => [JSON.stringify(candidate), candidate])).values()];
}
