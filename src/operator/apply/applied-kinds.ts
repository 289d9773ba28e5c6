/**
 * The kinds that the operator applies, with the order in which they are applied and removed. Kinds within one stage do
 * not depend on each other.
 */

import { MAC_POOLS, PROMETHEUS_RULES, SECURITY_CONTEXT_CONSTRAINTS, SERVICE_MONITORS } from "../../api/kinds.ts";
import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import { apiVersionOf, defineResource, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { ReflectorRules } from "../../kube/informer/reflector-rules.ts";

export const APPLY_STAGES = ["definitions", "rights", "bindings", "configuration", "workloads", "webhooks"] as const;
export type ApplyStage = (typeof APPLY_STAGES)[number];

/** Webhooks first, so that no request waits for a stopping server. Rights last, because stopping daemons still use them. */
export const REMOVE_STAGES = ["webhooks", "workloads", "rest"] as const;
export type RemoveStage = (typeof REMOVE_STAGES)[number];

export interface AppliedKind {
  readonly resource: Resource;
  readonly stage: ApplyStage;
  /** Undefined: the object holds users' data, is never removed, and has no owner. */
  readonly removal: RemoveStage | undefined;
  /** Everything but metadata and status is the operator's: what others add to it is removed again. */
  readonly whole: boolean;
  /** Applied only while it is served. */
  readonly optional: boolean;
  /** Watched by name, because other objects of the kind do not concern the operator. Otherwise watched by label. */
  readonly watchedByName: boolean;
  /** The API server may not serve the kind for a long time. */
  readonly mayBeAbsent: boolean;
  /** Another product serves the kind, and may be broken. */
  readonly external: boolean;
}

export const CERT_MANAGER_GROUP = "cert-manager.io";
const ISSUERS = defineResource(`${CERT_MANAGER_GROUP}/v1`, "Issuer", "issuers", true);
const CERTIFICATES = defineResource(`${CERT_MANAGER_GROUP}/v1`, "Certificate", "certificates", true);

const WATCHED_BY_NAME = new Set([RESOURCES.secrets.kind, RESOURCES.crds.kind, MAC_POOLS.kind]);
/** Their other fields belong to users, to keepers of certificates or to controllers of the cluster. */
const SHARED = new Set([...WATCHED_BY_NAME, RESOURCES.serviceAccounts.kind]);

const OTHER_PRODUCTS = new Set([CERT_MANAGER_GROUP, SECURITY_CONTEXT_CONSTRAINTS.group]);
const OPTIONAL = new Set([SERVICE_MONITORS.kind, PROMETHEUS_RULES.kind]);

/** A kind that is not served is asked for ever less often. The end of that is a change of its definition. */
const MAX_ABSENT_RETRY_MS = 30_000;
/** The same for a kind that is applied as soon as it is served, and whose definition is not watched. */
const MAX_OPTIONAL_RETRY_MS = 5_000;
/** An open watch outlives the right to it and the server behind it. Only the next one is refused. */
const EXTERNAL_WATCH_SECONDS = { min: 15, max: 20 };

function kind(resource: Resource, stage: ApplyStage, removal?: RemoveStage): AppliedKind {
  const watchedByName = WATCHED_BY_NAME.has(resource.kind);
  const optional = OPTIONAL.has(resource.kind);
  const external = optional || OTHER_PRODUCTS.has(resource.group);
  const mayBeAbsent = external || resource.kind === MAC_POOLS.kind;
  const whole = !SHARED.has(resource.kind);
  return { resource, stage, removal, whole, watchedByName, mayBeAbsent, external, optional };
}

export const APPLIED_KINDS: readonly AppliedKind[] = [
  kind(RESOURCES.crds, "definitions"),
  kind(RESOURCES.serviceAccounts, "rights", "rest"),
  kind(RESOURCES.clusterRoles, "rights", "rest"),
  kind(RESOURCES.roles, "rights", "rest"),
  kind(SECURITY_CONTEXT_CONSTRAINTS, "rights", "rest"),
  kind(RESOURCES.validatingAdmissionPolicies, "rights", "rest"),
  kind(RESOURCES.clusterRoleBindings, "bindings", "rest"),
  kind(RESOURCES.roleBindings, "bindings", "rest"),
  kind(RESOURCES.validatingAdmissionPolicyBindings, "bindings", "rest"),
  kind(RESOURCES.configMaps, "configuration", "rest"),
  kind(RESOURCES.secrets, "configuration", "rest"),
  kind(RESOURCES.services, "configuration", "rest"),
  kind(RESOURCES.podDisruptionBudgets, "configuration", "rest"),
  kind(RESOURCES.priorityLevelConfigurations, "configuration", "rest"),
  kind(RESOURCES.flowSchemas, "configuration", "rest"),
  kind(RESOURCES.networkPolicies, "configuration", "rest"),
  kind(SERVICE_MONITORS, "configuration", "rest"),
  kind(PROMETHEUS_RULES, "configuration", "rest"),
  kind(MAC_POOLS, "configuration"),
  kind(ISSUERS, "configuration", "rest"),
  kind(CERTIFICATES, "configuration", "rest"),
  kind(RESOURCES.deployments, "workloads", "workloads"),
  kind(RESOURCES.daemonSets, "workloads", "workloads"),
  kind(RESOURCES.mutatingWebhookConfigurations, "webhooks", "webhooks"),
  kind(RESOURCES.validatingWebhookConfigurations, "webhooks", "webhooks"),
];

const BY_KIND = new Map(
  APPLIED_KINDS.map((applied) => [kindKey(apiVersionOf(applied.resource), applied.resource.kind), applied]),
);

interface ApiObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}

/** Undefined for a kind that is not in the table, for example from a newer version's inventory. */
export function findAppliedKind(object: ApiObject): AppliedKind | undefined {
  return BY_KIND.get(kindKey(object.apiVersion, object.kind));
}

/** Throws for a kind that is not in the table. */
export function appliedKind(object: ApiObject): AppliedKind {
  const found = findAppliedKind(object);
  if (found === undefined) {
    throw new Error(`${object.apiVersion} ${object.kind} is not a kind that the operator applies`);
  }
  return found;
}

/** Whether the API server serves the kind. */
export function isEstablished(definition: CustomResourceDefinition | undefined): boolean {
  return definition?.status?.conditions?.some((one) => one.type === "Established" && one.status === "True") ?? false;
}

export function isWorkload(object: KubeObject): boolean {
  return object.kind === "Deployment" || object.kind === "DaemonSet";
}

/** How a kind that is not always there is watched. */
export function watchRules({ mayBeAbsent, optional, external }: AppliedKind): Partial<ReflectorRules> {
  return {
    ...(mayBeAbsent && { maxAbsentRetryMs: optional ? MAX_OPTIONAL_RETRY_MS : MAX_ABSENT_RETRY_MS }),
    ...(external && { watchTimeoutSeconds: EXTERNAL_WATCH_SECONDS }),
  };
}

function kindKey(apiVersion: string | undefined, kindName: string | undefined): string {
  return `${apiVersion} ${kindName}`;
}
