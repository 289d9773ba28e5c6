/** The CRD of NetworkAttachmentDefinitions, as the network plumbing working group defines the kind. */
export const NAD_GROUP = "k8s.cni.cncf.io";

export const nadCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `network-attachment-definitions.${NAD_GROUP}` },
  spec: {
    group: NAD_GROUP,
    scope: "Namespaced",
    names: {
      plural: "network-attachment-definitions",
      singular: "network-attachment-definition",
      kind: "NetworkAttachmentDefinition",
      shortNames: ["net-attach-def"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              apiVersion: { type: "string" },
              kind: { type: "string" },
              metadata: { type: "object" },
              spec: { type: "object", properties: { config: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
} as const;
