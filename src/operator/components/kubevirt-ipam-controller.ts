/**
 * kubevirtIpamController: IP addresses that a VM keeps over restarts and migrations. Its webhook's certificate comes from
 * cert-manager, on OpenShift from the service CA, where the IPAMClaim comes with the platform as well.
 */

import { LAUNCHER, LAUNCHER_LABEL, NAD_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { CERT_MANAGER_GROUP } from "../apply/applied-kinds.ts";
import { identityObjects, READ, rule } from "../manifests/rbac.ts";
import { disruptionBudget, service } from "../manifests/webhook-service.ts";
import { env } from "../manifests/workload.ts";
import { replicasFor } from "../watch/facts.ts";
import type { Component, RenderInput } from "./component.ts";
import { externalContainer, externalDeployment, UNPRIVILEGED } from "./external-component.ts";
import { IPAM_CLAIM_CRD } from "./network-plumbing-crds.ts";

const NAME = "kubevirt-ipam-controller-manager";
const SERVICE = "kubevirt-ipam-controller-webhook-service";
const CERTIFICATE = "kubevirt-ipam-controller-serving-cert";
const ISSUER = "kubevirt-ipam-controller-selfsigned-issuer";
const LABELS = { app: "ipam-virt-workloads" };
export const IPAM_SELECTOR = { ...LABELS, "control-plane": "manager" };
export const IPAM_WEBHOOK_PORT = 9443;
const HEALTH_PORT = 8081;
/** The program's own name for its Lease. */
const LEASE = "71d89df3";

/** Who issues the certificate, and where the program looks for it. */
interface Issuing {
  readonly secret: string;
  readonly mountPath: string;
  readonly args: readonly string[];
  readonly serviceAnnotations?: Readonly<Record<string, string>>;
  readonly webhookAnnotations: Readonly<Record<string, string>>;
}

export const kubevirtIpamController: Component = {
  name: "kubevirtIpamController",
  prerequisites: [
    {
      product: "cert-manager",
      definitions: [`certificates.${CERT_MANAGER_GROUP}`, `issuers.${CERT_MANAGER_GROUP}`],
      isNeeded: ({ openShift }) => !openShift,
    },
  ],
  render: objects,
};

function objects(input: RenderInput): KubeObject[] {
  const { facts, settings } = input;
  const namespace = settings.operandNamespace;
  const issuing = facts.openShift ? byServiceCa() : byCertManager(namespace);
  const replicas = replicasFor(facts);
  return [
    ...(facts.openShift ? [] : [IPAM_CLAIM_CRD, ...certificate(namespace)]),
    ...identity(namespace),
    service({
      name: SERVICE,
      namespace,
      labels: LABELS,
      annotations: issuing.serviceAnnotations,
      selector: IPAM_SELECTOR,
      ports: [{ name: "webhook", port: 443, targetPort: IPAM_WEBHOOK_PORT }],
    }),
    ...disruptionBudget(NAME, namespace, LABELS, IPAM_SELECTOR, replicas),
    manager(input, issuing, replicas),
    webhook(namespace, issuing),
  ];
}

function byCertManager(namespace: string): Issuing {
  return {
    secret: "webhook-server-cert",
    mountPath: "/tmp/k8s-webhook-server/serving-certs",
    args: [],
    webhookAnnotations: { [`${CERT_MANAGER_GROUP}/inject-ca-from`]: `${namespace}/${CERTIFICATE}` },
  };
}

function byServiceCa(): Issuing {
  const mountPath = "/etc/ipam-controller/certificates";
  return {
    secret: SERVICE,
    mountPath,
    args: [`--certificates-dir=${mountPath}`],
    serviceAnnotations: { "service.beta.openshift.io/serving-cert-secret-name": SERVICE },
    webhookAnnotations: { "service.beta.openshift.io/inject-cabundle": "true" },
  };
}

function certificate(namespace: string): KubeObject[] {
  const apiVersion = `${CERT_MANAGER_GROUP}/v1`;
  const dnsName = `${SERVICE}.${namespace}.svc`;
  return [
    {
      apiVersion,
      kind: "Issuer",
      metadata: { name: ISSUER, namespace, labels: LABELS },
      spec: { selfSigned: {} },
    },
    {
      apiVersion,
      kind: "Certificate",
      metadata: { name: CERTIFICATE, namespace, labels: LABELS },
      spec: {
        dnsNames: [dnsName, `${dnsName}.cluster.local`],
        issuerRef: { kind: "Issuer", name: ISSUER },
        secretName: byCertManager(namespace).secret,
      },
    },
  ];
}

function identity(namespace: string): KubeObject[] {
  return identityObjects({
    serviceAccount: NAME,
    namespace,
    labels: LABELS,
    cluster: {
      role: "kubevirt-ipam-controller-manager-role",
      binding: "kubevirt-ipam-controller-manager-rolebinding",
      rules: [
        rule("", ["pods"], READ),
        rule("kubevirt.io", ["virtualmachines", "virtualmachineinstances"], READ),
        // It owns IPAMClaims in the name of VMs, and blocks their deletion.
        rule("kubevirt.io", ["virtualmachines/finalizers", "virtualmachineinstances/finalizers"], ["update"]),
        rule(NAD_GROUP, ["network-attachment-definitions"], READ),
        rule(NAD_GROUP, ["ipamclaims"], [...READ, "create", "update"]),
      ],
    },
    namespaced: [
      rule("coordination.k8s.io", ["leases"], ["create"]),
      rule("coordination.k8s.io", ["leases"], ["get", "update"], [LEASE]),
      rule("", ["events"], ["create", "patch"]),
    ],
  });
}

function manager(input: RenderInput, issuing: Issuing, replicas: number): KubeObject {
  const nadNamespace = input.spec.kubevirtIpamController?.defaultNetworkNADNamespace ?? "";
  const probe = (path: string) => ({ httpGet: { path, port: HEALTH_PORT, scheme: "HTTP" as const } });
  const workload = {
    name: NAME,
    labels: IPAM_SELECTOR,
    selector: IPAM_SELECTOR,
    priorityClass: "system-cluster-critical" as const,
    pod: {
      serviceAccountName: NAME,
      terminationGracePeriodSeconds: 10,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        externalContainer(input, "KUBEVIRT_IPAM_CONTROLLER_IMAGE", {
          name: "manager",
          command: ["/manager"],
          args: [
            "--leader-elect",
            ...issuing.args,
            ...(nadNamespace === "" ? [] : [`--default-network-nad-namespace=${nadNamespace}`]),
          ],
          env: env({ LOG_LEVEL: 0 }),
          ports: [{ name: "webhook-server", containerPort: IPAM_WEBHOOK_PORT, protocol: "TCP" }],
          memory: "128Mi",
          securityContext: UNPRIVILEGED,
          readinessProbe: { ...probe("/readyz"), initialDelaySeconds: 5, periodSeconds: 10 },
          livenessProbe: { ...probe("/healthz"), initialDelaySeconds: 15, periodSeconds: 20 },
          volumeMounts: [{ name: "cert", mountPath: issuing.mountPath, readOnly: true }],
        }),
      ],
      volumes: [{ name: "cert", secret: { secretName: issuing.secret } }],
    },
  };
  return externalDeployment(input, workload, replicas);
}

/** Pods of VMs only: it names the claim in the pod's annotation before the pod exists. */
function webhook(namespace: string, issuing: Issuing): KubeObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: {
      name: "kubevirt-ipam-controller-mutating-webhook-configuration",
      labels: LABELS,
      annotations: issuing.webhookAnnotations,
    },
    webhooks: [
      {
        name: "ipam-claims.k8s.cni.cncf.io",
        clientConfig: { service: { name: SERVICE, namespace, path: "/mutate-v1-pod", port: 443 } },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE", "UPDATE"], scope: "*" },
        ],
        objectSelector: { matchLabels: { [LAUNCHER_LABEL]: LAUNCHER } },
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        reinvocationPolicy: "Never",
        timeoutSeconds: 10,
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}
