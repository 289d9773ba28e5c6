/**
 * The KubeVirt kinds that the product sees, as CustomResourceDefinitions with every field preserved.
 *
 * Only the served version v1 exists, validation is KubeVirt's business (virt-api is not here), status is a subresource
 * as in KubeVirt: a writer of spec never overwrites status and the other way round.
 */

export const KUBEVIRT_GROUP = "kubevirt.io";
export const KUBEVIRT_VERSION = "v1";

export const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`;

interface KubevirtKind {
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly columns: readonly PrinterColumn[];
}

interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "date";
  readonly jsonPath: string;
}

const AGE: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

export const KUBEVIRT_KINDS: readonly KubevirtKind[] = [
  {
    kind: "VirtualMachine",
    shortNames: ["vm", "vms"],
    columns: [AGE, { name: "Status", type: "string", jsonPath: ".status.printableStatus" }],
  },
  {
    kind: "VirtualMachineInstance",
    shortNames: ["vmi", "vmis"],
    columns: [
      AGE,
      { name: "Phase", type: "string", jsonPath: ".status.phase" },
      { name: "NodeName", type: "string", jsonPath: ".status.nodeName" },
    ],
  },
  {
    kind: "VirtualMachineInstanceMigration",
    shortNames: ["vmim", "vmims"],
    columns: [
      { name: "Phase", type: "string", jsonPath: ".status.phase" },
      { name: "VMI", type: "string", jsonPath: ".spec.vmiName" },
    ],
  },
];

/** The three CustomResourceDefinitions, ready to be created. */
export function kubevirtCrds(): object[] {
  return KUBEVIRT_KINDS.map(crd);
}

function crd(kind: KubevirtKind): object {
  const plural = pluralOf(kind.kind);
  const preserved = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${KUBEVIRT_GROUP}` },
    spec: {
      group: KUBEVIRT_GROUP,
      scope: "Namespaced",
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural,
        singular: kind.kind.toLowerCase(),
        shortNames: kind.shortNames,
        categories: ["all"],
      },
      versions: [
        {
          name: KUBEVIRT_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: preserved, status: preserved } } },
        },
      ],
    },
  };
}
