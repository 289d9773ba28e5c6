/** Part of kubeMacPool: accounts and rights. Only the pool's own account may write claims. */

import { CLAIM_BREAK_GLASS } from "../../api/mac-claim.ts";
import {
  API_SERVER_CLIENTS,
  FORMER_FINALIZER,
  MAC_POOL_CA_SECRET,
  MAC_POOL_CERT_MANAGER,
  MAC_POOL_GROUP,
  MAC_POOL_INSPECTION_PORT_NAME,
  MAC_POOL_SERVICE,
  MAC_POOL_WEBHOOK_CLIENTS,
  MAC_POOL_WEBHOOK_CONFIGURATION,
  NAD_GROUP,
} from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { denyingPolicy, type Validation } from "../manifests/admission-policy.ts";
import { ASK_WHO_MAY, FOLLOW, FOLLOW_CONFIG, holdLease, identityObjects, READ, rule } from "../manifests/rbac.ts";
import { type CertManagerProcess, certManagerAccess } from "./cert-manager.ts";

export const MANAGER_ACCOUNT = "kubemacpool-sa";
const MANAGER_ROLE = "kubemacpool-manager-role";
const MANAGER_LEASE = "kubemacpool-mac-pool";
const VIEW_ROLE = "kubemacpool-view";

type Labels = Readonly<Record<string, string>>;

const APP = { app: "kubemacpool" };
const CERT_MANAGER_SELECTOR = { "control-plane": "cert-manager" };

export const MAC_POOL_CERTIFICATES: CertManagerProcess = {
  name: MAC_POOL_CERT_MANAGER,
  labels: APP,
  podLabels: { ...APP, ...CERT_MANAGER_SELECTOR },
  selector: CERT_MANAGER_SELECTOR,
  caSecret: MAC_POOL_CA_SECRET,
  servingSecret: MAC_POOL_SERVICE,
  serviceName: MAC_POOL_SERVICE,
  webhookConfigurations: [{ kind: "Mutating", name: MAC_POOL_WEBHOOK_CONFIGURATION }],
};

export function macPoolAccess(namespace: string, labels: Labels): KubeObject[] {
  return [
    ...identityObjects({
      serviceAccount: MANAGER_ACCOUNT,
      namespace,
      labels,
      cluster: {
        role: MANAGER_ROLE,
        binding: "kubemacpool-manager-rolebinding",
        rules: [
          rule(MAC_POOL_GROUP, ["macclaims"], [...READ, "create", "update", "delete"]),
          rule(MAC_POOL_GROUP, ["macpools", "nodemacs"], FOLLOW),
          rule(MAC_POOL_GROUP, ["macpools/status"], ["patch"]),
          rule("kubevirt.io", ["virtualmachines", "virtualmachineinstances"], READ),
          rule("kubevirt.io", ["virtualmachines"], ["patch"]),
          rule("", ["pods", "namespaces"], READ),
          rule("", ["nodes"], FOLLOW),
          rule(NAD_GROUP, ["network-attachment-definitions"], READ),
          rule("", ["configmaps"], FOLLOW, [API_SERVER_CLIENTS]),
          FOLLOW_CONFIG,
          ...ASK_WHO_MAY,
          rule("events.k8s.io", ["events"], ["create", "patch"]),
        ],
      },
      namespaced: [
        rule("", ["secrets"], FOLLOW, [MAC_POOL_SERVICE]),
        rule("", ["configmaps"], FOLLOW, [MAC_POOL_WEBHOOK_CLIENTS]),
        holdLease(MANAGER_LEASE),
      ],
    }),
    ...certManagerAccess({ ...MAC_POOL_CERTIFICATES, labels }, namespace),
    viewRole(labels),
    ...ownPriorityLevel(namespace, labels),
    ...writePolicy(namespace, labels),
  ];
}

/** For get: the Service's proxy leads to inspection, which asks for the rights of whoever comes through it. */
const INSPECTION_PROXY = `https:${MAC_POOL_SERVICE}:${MAC_POOL_INSPECTION_PORT_NAME}`;

/** Whoever may view namespaces may see who has which MAC; the webhooks say to `kubectl macpool` where the pool is. */
function viewRole(labels: Labels): KubeObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: VIEW_ROLE, labels: { ...labels, "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
    rules: [
      rule(MAC_POOL_GROUP, ["macpools", "macclaims", "nodemacs"], READ),
      rule("", ["services/proxy"], ["get"], [INSPECTION_PROXY]),
      rule(
        "admissionregistration.k8s.io",
        ["mutatingwebhookconfigurations"],
        ["get"],
        [MAC_POOL_WEBHOOK_CONFIGURATION],
      ),
    ],
  };
}

/**
 * The pool writes claims while the request that asks for a MAC holds a seat of the API server. In the same priority
 * level a flood of new VMs would starve the writes that it waits for.
 */
function ownPriorityLevel(namespace: string, labels: Labels): KubeObject[] {
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
  const metadata = { name: "kubemacpool", labels };
  return [
    {
      apiVersion,
      kind: "PriorityLevelConfiguration",
      metadata,
      spec: {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 20,
          lendablePercent: 0,
          limitResponse: { type: "Queue", queuing: { queues: 16, handSize: 4, queueLengthLimit: 200 } },
        },
      },
    },
    {
      apiVersion,
      kind: "FlowSchema",
      metadata,
      spec: {
        priorityLevelConfiguration: { name: metadata.name },
        matchingPrecedence: 800,
        rules: [
          {
            subjects: [{ kind: "ServiceAccount", serviceAccount: { name: MANAGER_ACCOUNT, namespace } }],
            resourceRules: [
              { verbs: ["*"], apiGroups: [MAC_POOL_GROUP], resources: ["*"], clusterScope: true, namespaces: ["*"] },
            ],
          },
        ],
      },
    },
  ];
}

/**
 * Who writes MACClaims, and what the pool writes in VMs. Deleting an allocated claim by hand could give two VMs the same address.
 * RBAC knows no right to a single field: of a VM, the pool may take off its predecessor's finalizer, and change nothing else.
 */
function writePolicy(namespace: string, labels: Labels): KubeObject[] {
  const isThePool = `request.userInfo.username == 'system:serviceaccount:${namespace}:${MANAGER_ACCOUNT}'`;
  const concerns = (resource: string): string => `request.resource.resource == '${resource}'`;
  return denyingPolicy({
    name: "kubemacpool-macclaims",
    labels,
    matches: [
      {
        apiGroups: [MAC_POOL_GROUP],
        apiVersions: ["*"],
        resources: ["macclaims"],
        operations: ["CREATE", "UPDATE", "DELETE"],
      },
      { apiGroups: ["kubevirt.io"], apiVersions: ["*"], resources: ["virtualmachines"], operations: ["UPDATE"] },
    ],
    conditions: [{ name: "concerns-the-writer", expression: `(${concerns("virtualmachines")}) == (${isThePool})` }],
    validations: [claimValidation(concerns("macclaims")), machineValidation(concerns("virtualmachines"))],
  });
}

function claimValidation(concernsClaims: string): Validation {
  const carries = (object: string): string =>
    `(${object} != null && has(${object}.metadata.annotations) && ` +
    `'${CLAIM_BREAK_GLASS}' in ${object}.metadata.annotations && ` +
    `${object}.metadata.annotations['${CLAIM_BREAK_GLASS}'] == 'true')`;
  return {
    expression: `!(${concernsClaims}) || ${carries("object")} || ${carries("oldObject")}`,
    message:
      "Only the MAC pool may change MACClaims: a change by hand can give two VMs the same MAC address. " +
      `To change the claim all the same, set its annotation ${CLAIM_BREAK_GLASS}: "true" first.`,
  };
}

function machineValidation(concernsMachines: string): Validation {
  const kept = ["?spec", "?metadata.?labels", "?metadata.?annotations", "?metadata.?ownerReferences"].map(
    (path) => `object.${path} == oldObject.${path}`,
  );
  const expression = [
    "has(oldObject.metadata.deletionTimestamp)",
    ...kept,
    `object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([]).filter(f, f != '${FORMER_FINALIZER}')`,
  ].join(" && ");
  return {
    expression: `!(${concernsMachines}) || (${expression})`,
    message: `The MAC pool may only take the finalizer ${FORMER_FINALIZER} off a VM that is being deleted.`,
  };
}
