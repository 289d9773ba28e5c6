/** The CRD of NetworkAttachmentDefinitions, as the Network Plumbing Working Group specifies them. It outlives multus: the objects are the users'. */

import { NAD_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

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
