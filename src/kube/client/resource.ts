import type {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  EndpointSlice,
  FlowSchema,
  KubeEvent,
  Lease,
  MutatingWebhookConfiguration,
  Namespace,
  NetworkPolicy,
  Node,
  Pod,
  PodDisruptionBudget,
  PriorityLevelConfiguration,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  SubjectAccessReview,
  TokenReview,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from "./built-in-kinds.ts";

/** metadata as it is on the wire. Timestamps stay RFC 3339 strings. */
export interface ObjectMeta {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly managedFields?: readonly ManagedFieldsEntry[] | undefined;
}

/** Who wrote some fields of an object, and how. */
interface ManagedFieldsEntry {
  readonly manager?: string | undefined;
  readonly operation?: string | undefined;
  readonly subresource?: string | undefined;
  readonly time?: string | undefined;
  /** The fields as a tree with keys `f:NAME`. */
  readonly fieldsV1?: unknown;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

/** Any object of the API, raw: fields this program does not know stay where they are. */
export interface KubeObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

declare const OBJECT: unique symbol;

/** Where objects of one kind live in the API. `T` is what they look like; it exists for the type checker only. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly [OBJECT]?: T;
}

export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** `apiVersion` as objects carry it: `v1`, `apps/v1`. */
export function defineResource<T extends KubeObject = KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced: boolean,
): Resource<T> {
  if (!apiVersion || !kind || !plural) {
    throw new Error(`A resource needs apiVersion, kind and plural, not "${apiVersion}", "${kind}", "${plural}".`);
  }
  const slash = apiVersion.indexOf("/");
  return {
    group: slash < 0 ? "" : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind,
    plural,
    namespaced,
  };
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** Kinds that every supported server has. */
export const RESOURCES = {
  pods: defineResource<Pod>("v1", "Pod", "pods", true),
  nodes: defineResource<Node>("v1", "Node", "nodes", false),
  namespaces: defineResource<Namespace>("v1", "Namespace", "namespaces", false),
  services: defineResource<Service>("v1", "Service", "services", true),
  secrets: defineResource<Secret>("v1", "Secret", "secrets", true),
  configMaps: defineResource<ConfigMap>("v1", "ConfigMap", "configmaps", true),
  serviceAccounts: defineResource<ServiceAccount>("v1", "ServiceAccount", "serviceaccounts", true),
  deployments: defineResource<Deployment>("apps/v1", "Deployment", "deployments", true),
  daemonSets: defineResource<DaemonSet>("apps/v1", "DaemonSet", "daemonsets", true),
  leases: defineResource<Lease>("coordination.k8s.io/v1", "Lease", "leases", true),
  events: defineResource<KubeEvent>("events.k8s.io/v1", "Event", "events", true),
  crds: defineResource<CustomResourceDefinition>(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    false,
  ),
  clusterRoles: defineResource<ClusterRole>("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false),
  clusterRoleBindings: defineResource<ClusterRoleBinding>(
    "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    false,
  ),
  roles: defineResource<Role>("rbac.authorization.k8s.io/v1", "Role", "roles", true),
  roleBindings: defineResource<RoleBinding>("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true),
  mutatingWebhookConfigurations: defineResource<MutatingWebhookConfiguration>(
    "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    false,
  ),
  validatingWebhookConfigurations: defineResource<ValidatingWebhookConfiguration>(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    false,
  ),
  validatingAdmissionPolicies: defineResource<ValidatingAdmissionPolicy>(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    false,
  ),
  validatingAdmissionPolicyBindings: defineResource<ValidatingAdmissionPolicyBinding>(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    false,
  ),
  podDisruptionBudgets: defineResource<PodDisruptionBudget>(
    "policy/v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    true,
  ),
  networkPolicies: defineResource<NetworkPolicy>("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true),
  endpointSlices: defineResource<EndpointSlice>("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true),
  flowSchemas: defineResource<FlowSchema>("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", false),
  priorityLevelConfigurations: defineResource<PriorityLevelConfiguration>(
    "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    false,
  ),
  tokenReviews: defineResource<TokenReview>("authentication.k8s.io/v1", "TokenReview", "tokenreviews", false),
  subjectAccessReviews: defineResource<SubjectAccessReview>(
    "authorization.k8s.io/v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    false,
  ),
} as const;

/** The object without `metadata.managedFields`, which are about half of a small object's memory. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) {
    return object;
  }
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
