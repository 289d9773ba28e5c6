import type * as admissionregistration from "kubernetes-types/admissionregistration/v1.js";
import type * as apiextensions from "kubernetes-types/apiextensions/v1.js";
import type * as apps from "kubernetes-types/apps/v1.js";
import type * as authentication from "kubernetes-types/authentication/v1.js";
import type * as authorization from "kubernetes-types/authorization/v1.js";
import type * as coordination from "kubernetes-types/coordination/v1.js";
import type * as core from "kubernetes-types/core/v1.js";
import type * as discovery from "kubernetes-types/discovery/v1.js";
import type * as events from "kubernetes-types/events/v1.js";
import type * as flowcontrol from "kubernetes-types/flowcontrol/v1.js";
import type * as networking from "kubernetes-types/networking/v1.js";
import type * as policy from "kubernetes-types/policy/v1.js";
import type * as rbac from "kubernetes-types/rbac/v1.js";
import type { KubeObject } from "./resource.ts";

/**
 * The built-in kinds as raw objects: the field types of `kubernetes-types` (types only, nothing of it is loaded) under
 * our `metadata`.
 */
type Kind<T> = KubeObject & Omit<T, "apiVersion" | "kind" | "metadata">;

export type Pod = Kind<core.Pod>;
export type Node = Kind<core.Node>;
export type Namespace = Kind<core.Namespace>;
export type Service = Kind<core.Service>;
export type Secret = Kind<core.Secret>;
export type ConfigMap = Kind<core.ConfigMap>;
export type ServiceAccount = Kind<core.ServiceAccount>;
export type Deployment = Kind<apps.Deployment>;
export type DaemonSet = Kind<apps.DaemonSet>;
export type Lease = Kind<coordination.Lease>;
export type KubeEvent = Kind<events.Event>;
export type CustomResourceDefinition = Kind<apiextensions.CustomResourceDefinition>;
export type ClusterRole = Kind<rbac.ClusterRole>;
export type ClusterRoleBinding = Kind<rbac.ClusterRoleBinding>;
export type Role = Kind<rbac.Role>;
export type RoleBinding = Kind<rbac.RoleBinding>;
export type MutatingWebhookConfiguration = Kind<admissionregistration.MutatingWebhookConfiguration>;
export type ValidatingWebhookConfiguration = Kind<admissionregistration.ValidatingWebhookConfiguration>;
export type ValidatingAdmissionPolicy = Kind<admissionregistration.ValidatingAdmissionPolicy>;
export type ValidatingAdmissionPolicyBinding = Kind<admissionregistration.ValidatingAdmissionPolicyBinding>;
export type PodDisruptionBudget = Kind<policy.PodDisruptionBudget>;
export type NetworkPolicy = Kind<networking.NetworkPolicy>;
export type EndpointSlice = Kind<discovery.EndpointSlice>;
export type FlowSchema = Kind<flowcontrol.FlowSchema>;
export type PriorityLevelConfiguration = Kind<flowcontrol.PriorityLevelConfiguration>;
export type TokenReview = Kind<authentication.TokenReview>;
export type SubjectAccessReview = Kind<authorization.SubjectAccessReview>;
