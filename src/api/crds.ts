/** The product's CustomResourceDefinitions, made from the zod schemas. `npm run generate` writes them to deploy/crds. */

import type * as z from "zod";
import { apiVersionOf, type CustomKind, MAC_CLAIMS, MAC_POOLS, NETWORK_ADDONS_CONFIGS, NODE_MACS } from "./kinds.ts";
import { macClaimSchema } from "./mac-claim.ts";
import { macPoolSchema } from "./mac-pool.ts";
import { networkAddonsConfigSchema } from "./network-addons-config.ts";
import { nodeMacsSchema } from "./node-macs.ts";
import { type StructuralSchema, structuralSchema } from "./structural-schema.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Above zero: shown with `-o wide` only. */
  readonly priority?: number;
}

interface CrdOptions {
  readonly kind: CustomKind;
  readonly listKind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly schema: z.ZodType;
  readonly columns: readonly PrinterColumn[];
  readonly statusSubresource: boolean;
  /** Served besides the stored version, with the same schema. */
  readonly alsoServed?: readonly string[];
}

export type CustomResourceDefinition = {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: "Cluster" | "Namespaced";
    readonly names: Readonly<Record<string, string | readonly string[]>>;
    readonly versions: readonly CrdVersion[];
  };
};

type CrdVersion = {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
  readonly subresources?: { readonly status: Record<string, never> };
  readonly additionalPrinterColumns: readonly PrinterColumn[];
};

const AGE: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since it was created.",
};

function condition(name: string): PrinterColumn {
  return {
    name,
    type: "string",
    jsonPath: `.status.conditions[?(@.type=="${name}")].status`,
    description: `Status of the condition ${name}.`,
  };
}

function text(name: string, jsonPath: string, description: string, priority?: number): PrinterColumn {
  return { name, type: "string", jsonPath, description, ...(priority === undefined ? {} : { priority }) };
}

function count(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "integer", jsonPath, description };
}

export const NETWORK_ADDONS_CONFIG_CRD = crd({
  kind: NETWORK_ADDONS_CONFIGS,
  listKind: "NetworkAddonsConfigList",
  singular: "networkaddonsconfig",
  shortNames: ["nac"],
  schema: networkAddonsConfigSchema,
  statusSubresource: true,
  alsoServed: ["v1alpha1"],
  columns: [
    condition("Available"),
    condition("Progressing"),
    condition("Degraded"),
    text("Version", ".status.observedVersion", "Deployed version."),
    text("Distribution", ".status.distributions[0]", "Distribution of Kubernetes that most nodes have.", 1),
    AGE,
  ],
});

export const MAC_POOL_CRD = crd({
  kind: MAC_POOLS,
  listKind: "MACPoolList",
  singular: "macpool",
  shortNames: ["macpool"],
  schema: macPoolSchema,
  statusSubresource: true,
  columns: [
    text("Ranges", ".status.range", "Ranges in force."),
    count("Capacity", ".status.capacity", "Addresses in the ranges."),
    count("Used", ".status.used", "Addresses in use."),
    count("Free", ".status.free", "Addresses that can be allocated."),
    count("Conflicts", ".status.conflicts", "Addresses with more than one holder."),
    AGE,
  ],
});

export const MAC_CLAIM_CRD = crd({
  kind: MAC_CLAIMS,
  listKind: "MACClaimList",
  singular: "macclaim",
  shortNames: ["macclaim"],
  schema: macClaimSchema,
  statusSubresource: false,
  columns: [
    text("MAC", ".spec.mac", "The address."),
    text("Phase", ".status.phase", "Allocated or Quarantined."),
    text("Owner", ".status.owner", "Holder of the address."),
    text("Interface", ".status.owners[*].interface", "Interface with the address."),
    text("Pool", ".spec.pool", "Pool of the address."),
    text("Network", ".status.owners[*].network", "Network of the interface.", 1),
    text("Origin", ".spec.origin", "automatic, explicit or observed.", 1),
    text("Until", ".status.until", "Quarantined: end of the quarantine. Allocated: for version 0.1 only.", 1),
    AGE,
  ],
});

export const NODE_MACS_CRD = crd({
  kind: NODE_MACS,
  listKind: "NodeMACsList",
  singular: "nodemacs",
  shortNames: [],
  schema: nodeMacsSchema,
  statusSubresource: false,
  columns: [AGE],
});

export const CRDS: readonly CustomResourceDefinition[] = [
  NETWORK_ADDONS_CONFIG_CRD,
  MAC_POOL_CRD,
  MAC_CLAIM_CRD,
  NODE_MACS_CRD,
];

function crd(options: CrdOptions): CustomResourceDefinition {
  const { kind } = options;
  const openAPIV3Schema = rootSchema(options.schema, apiVersionOf(kind), kind.kind);
  const version = (name: string): CrdVersion => ({
    name,
    served: true,
    storage: name === kind.version,
    schema: { openAPIV3Schema },
    ...(options.statusSubresource ? { subresources: { status: {} } } : {}),
    additionalPrinterColumns: options.columns,
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind: kind.kind,
        listKind: options.listKind,
        plural: kind.plural,
        singular: options.singular,
        ...(options.shortNames.length > 0 ? { shortNames: options.shortNames } : {}),
      },
      versions: [kind.version, ...(options.alsoServed ?? [])].map(version),
    },
  };
}

function rootSchema(schema: z.ZodType, apiVersion: string, kind: string): StructuralSchema {
  const root = structuralSchema(schema);
  return {
    ...root,
    properties: {
      apiVersion: { type: "string", description: `Version of this representation, for example ${apiVersion}.` },
      kind: { type: "string", description: `Kind of the object: ${kind}.` },
      // Our CEL rules read the name.
      metadata: { type: "object", properties: { name: { type: "string" } } },
      ...root.properties,
    },
  };
}
