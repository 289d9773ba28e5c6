/**
 * Part of kubeMacPool: the process that keeps the certificates of its webhooks. It has an account of its own, so that whoever
 * gets hold of the process that reads tenants' objects can't redirect the API server's calls.
 */

import { IDLE_NODE_FLAGS } from "../../api/image.ts";
import { METRICS_PORT, METRICS_PORT_NAME } from "../../api/names.ts";
import type { KeptCertificates } from "../../certs/cert-manager.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { ASK_WHO_MAY, FOLLOW, FOLLOW_CONFIG, identityObjects, type Rule, rule } from "../manifests/rbac.ts";
import { service } from "../manifests/webhook-service.ts";
import { CLUSTER_CLIENT, deployment, env, OWN_POD } from "../manifests/workload.ts";
import { certificateIntervals, type RenderInput } from "./component.ts";

export interface CertManagerProcess extends KeptCertificates {
  /** Of Deployment, service account and roles. */
  readonly name: string;
  /** Of account and roles. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of the Deployment, its pods and the Service of their metrics. */
  readonly podLabels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>>;
}

const HEALTH_PORT = 8081;

/** Account and rights: its Secrets, which it deletes where they are immutable, and its webhook configurations by name. */
export function certManagerAccess(kept: CertManagerProcess, namespace: string): KubeObject[] {
  const { name, labels, caSecret, servingSecret } = kept;
  return identityObjects({
    serviceAccount: name,
    namespace,
    labels,
    cluster: { role: name, binding: name, rules: [...configurationRules(kept), FOLLOW_CONFIG, ...ASK_WHO_MAY] },
    namespaced: [rule("", ["secrets"], [...FOLLOW, "patch", "delete"], [caSecret, servingSecret])],
  });
}

function configurationRules({ webhookConfigurations }: KeptCertificates): Rule[] {
  return (["Mutating", "Validating"] as const).flatMap((kind) => {
    const names = webhookConfigurations.filter((one) => one.kind === kind).map(({ name }) => name);
    const resource = `${kind.toLowerCase()}webhookconfigurations`;
    return names.length === 0 ? [] : [rule("admissionregistration.k8s.io", [resource], [...FOLLOW, "patch"], names)];
  });
}

export function certManagerDeployment(
  kept: CertManagerProcess,
  image: string,
  { spec, settings }: RenderInput,
): KubeObject {
  const { name, podLabels, selector, caSecret, servingSecret, webhookConfigurations } = kept;
  return deployment({
    name,
    namespace: settings.operandNamespace,
    labels: podLabels,
    selector,
    replicas: 1,
    strategy: "Recreate",
    podLabels: CLUSTER_CLIENT,
    pod: {
      container: "manager",
      process: "certs",
      nodeFlags: IDLE_NODE_FLAGS,
      image,
      imagePullPolicy: spec.imagePullPolicy,
      imagePullSecrets: settings.imagePullSecrets,
      env: [
        ...OWN_POD,
        ...env({
          CA_SECRET: caSecret,
          SERVING_SECRET: servingSecret,
          SERVICE_NAME: kept.serviceName,
          WEBHOOK_CONFIGURATIONS: webhookConfigurations.map((one) => `${one.kind}/${one.name}`).join(","),
          ...certificateIntervals(spec),
          METRICS_PORT,
          HEALTH_PORT,
        }),
      ],
      ports: { [METRICS_PORT_NAME]: METRICS_PORT, health: HEALTH_PORT },
      healthPort: HEALTH_PORT,
      memory: "32Mi",
      serviceAccount: name,
      priorityClass: "system-cluster-critical",
      placement: spec.placementConfiguration.infra,
    },
  });
}

export function certManagerMetrics({ name, podLabels }: CertManagerProcess, namespace: string): KubeObject {
  return service({
    name: `${name}-metrics`,
    namespace,
    labels: podLabels,
    selector: podLabels,
    ports: [{ name: METRICS_PORT_NAME, port: METRICS_PORT, targetPort: METRICS_PORT_NAME }],
  });
}
