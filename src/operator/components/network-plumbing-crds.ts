/** CRDs as the Network Plumbing Working Group specifies them. Pure. */

import { NAD_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

/** It outlives multus: the objects are the users'. */
export const NETWORK_ATTACHMENT_DEFINITION_CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `network-attachment-definitions.${NAD_GROUP}` },
  spec: {
    group: NAD_GROUP,
    scope: "Namespaced",
    names: {
      kind: "NetworkAttachmentDefinition",
      listKind: "NetworkAttachmentDefinitionList",
      plural: "network-attachment-definitions",
      singular: "network-attachment-definition",
      shortNames: ["nad", "net-attach-def"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "A network to which pods can be attached besides the cluster's default network.",
            properties: {
              apiVersion: { type: "string", description: `Version of this representation: ${NAD_GROUP}/v1.` },
              kind: { type: "string", description: "Kind of the object: NetworkAttachmentDefinition." },
              metadata: { type: "object" },
              spec: {
                type: "object",
                description: "How pods are attached.",
                properties: {
                  config: {
                    type: "string",
                    description: "CNI configuration of one plugin or a list of them, as JSON.",
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

const text = (description: string) => ({ type: "string", description });
/** Another network or interface would be another claim. */
const fixed = (description: string) => ({
  ...text(description),
  "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "cannot be changed" }],
});
const texts = (description: string) => ({ type: "array", description, items: { type: "string" } });

const CONDITION = {
  type: "object",
  required: ["type", "status", "reason", "message", "lastTransitionTime"],
  properties: {
    type: { type: "string", maxLength: 316 },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    reason: { type: "string", minLength: 1, maxLength: 1024 },
    message: { type: "string", maxLength: 32768 },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    lastTransitionTime: { type: "string", format: "date-time" },
  },
};

/** Addresses that a network keeps for a VM. It outlives kubevirtIpamController: the addresses are in use. */
export const IPAM_CLAIM_CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `ipamclaims.${NAD_GROUP}` },
  spec: {
    group: NAD_GROUP,
    scope: "Namespaced",
    names: { kind: "IPAMClaim", listKind: "IPAMClaimList", plural: "ipamclaims", singular: "ipamclaim" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "Addresses that outlive the pods which use them.",
            properties: {
              apiVersion: text(`Version of this representation: ${NAD_GROUP}/v1alpha1.`),
              kind: text("Kind of the object: IPAMClaim."),
              metadata: { type: "object" },
              spec: {
                type: "object",
                required: ["interface", "network"],
                properties: {
                  interface: fixed("Interface of the pod."),
                  network: fixed("Network that gives the addresses."),
                  ipRequests: texts("Addresses that the user asks for."),
                },
              },
              status: {
                type: "object",
                required: ["ips"],
                properties: {
                  ips: texts("Addresses given."),
                  // A name in some versions, an object with a name in others.
                  ownerPod: { description: "Pod that has them now.", "x-kubernetes-preserve-unknown-fields": true },
                  conditions: { type: "array", description: "State of the claim.", items: CONDITION },
                },
              },
            },
          },
        },
      },
    ],
  },
};
