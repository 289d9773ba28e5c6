/**
 * What the operator has applied. The inventory makes removal complete across restarts, upgrades and interruptions. It is
 * JSON in one ConfigMap. An entry is written before its object is applied.
 */

import { createHash } from "node:crypto";
import * as z from "zod";
import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject, ObjectRef } from "../../kube/client/resource.ts";
import { isWorkload } from "./applied-kinds.ts";

const entrySchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  namespace: z.string().exactOptional(),
  name: z.string(),
  component: z.string(),
  /** Fingerprint of the object as last applied. Absent until one apply succeeded. */
  fingerprint: z.string().exactOptional(),
  /** For a workload: its pods must be gone before the entry is removed. */
  podSelector: z.record(z.string(), z.string()).exactOptional(),
});

export type InventoryEntry = z.infer<typeof entrySchema>;

/** Entries by object key. */
export type Inventory = ReadonlyMap<string, InventoryEntry>;

export const EMPTY_INVENTORY: Inventory = new Map();

export interface ObjectIdentity {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export function identityOf(object: KubeObject): ObjectIdentity {
  const { namespace, name } = object.metadata;
  return { apiVersion: object.apiVersion, kind: object.kind, namespace, name };
}

export function identityKey({ apiVersion, kind, namespace, name }: ObjectIdentity): string {
  return [apiVersion, kind, namespace ?? "", name].join(" ");
}

export function keyOf(object: KubeObject): string {
  return identityKey(identityOf(object));
}

/** As messages call it. */
export function nameOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return `${object.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

export function refOf(object: KubeObject): ObjectRef {
  const { name = "", namespace } = object.metadata;
  return { name, namespace };
}

/** With its group. */
export function kindOf({ apiVersion = "", kind }: KubeObject): string {
  return `${apiVersion.split("/")[0]} ${kind}`;
}

/** Of a definition: as `kindOf` says it of its objects. */
export function definedKind({ spec }: KubeObject): string {
  const { group, names } = spec as CustomResourceDefinition["spec"];
  return `${group} ${names.kind}`;
}

export function entryFor(object: KubeObject, component: string, fingerprint?: string): InventoryEntry {
  const { namespace, name = "" } = object.metadata;
  const selector = isWorkload(object) ? podSelectorOf(object) : undefined;
  return {
    apiVersion: object.apiVersion ?? "",
    kind: object.kind ?? "",
    ...(namespace === undefined ? {} : { namespace }),
    name,
    component,
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(selector === undefined ? {} : { podSelector: selector }),
  };
}

/** Changes with every change of the object. */
export function fingerprintOf(object: KubeObject): string {
  return createHash("sha256").update(canonicalJson(object)).digest("hex").slice(0, 16);
}

/** The same text for the same content. */
export function encodeInventory(inventory: Inventory): string {
  const entries = [...inventory].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  return canonicalJson(entries);
}

/** An unreadable text counts as empty. Everything is then applied again, which is harmless. */
export function decodeInventory(text: string | undefined): Inventory {
  if (text === undefined) return EMPTY_INVENTORY;
  try {
    const entries = z.array(entrySchema).parse(JSON.parse(text));
    return new Map(entries.map((entry) => [identityKey(entry), entry]));
  } catch {
    return EMPTY_INVENTORY;
  }
}

function podSelectorOf(object: KubeObject): Record<string, string> | undefined {
  const spec = object.spec as { readonly selector?: { readonly matchLabels?: Record<string, string> } } | undefined;
  return spec?.selector?.matchLabels;
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, nested: unknown) => {
    if (nested === null || typeof nested !== "object" || Array.isArray(nested)) return nested;
    return Object.fromEntries(Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** `settled`: fingerprints of what was applied, by key. */
export function entriesAfter(
  known: Inventory,
  gone: ReadonlySet<string>,
  settled: ReadonlyMap<string, string>,
): Inventory {
  const entries = new Map([...known].filter(([key]) => !gone.has(key)));
  for (const [key, fingerprint] of settled) {
    const entry = entries.get(key);
    if (entry !== undefined) entries.set(key, { ...entry, fingerprint });
  }
  return entries;
}
