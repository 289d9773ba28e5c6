/** How an object in the cluster differs from the wanted one. By itself: nothing of the operator's comparison is in here. Pure. */

import type { KubeObject } from "../../../src/kube/client/resource.ts";

/** Others may write these. */
const OTHERS = [
  /^webhooks\.\d+\.clientConfig\.caBundle$/,
  /^spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy)(\.|$)/,
  /^spec\.template\.metadata\.(labels|annotations)\.[^ ]*$/,
];

/** `complete`: the wanted object as the API server stores a new one. Empty objects and lists count as absent. */
export function differences(live: KubeObject, complete: KubeObject): string[] {
  return [...difference(bodyOf(live), bodyOf(complete), "", true), ...ofMetadata(live, complete)];
}

/** The same where the object has fields of others: only what is wanted has to be as it is. */
export function missing(live: KubeObject, wanted: KubeObject): string[] {
  return [...difference(bodyOf(live), bodyOf(wanted), "", false), ...ofMetadata(live, wanted)];
}

function ofMetadata({ metadata }: KubeObject, wanted: KubeObject): string[] {
  const { labels, ownerReferences } = wanted.metadata;
  return [
    ...difference(metadata.labels, labels, "metadata.labels", false),
    ...difference(metadata.ownerReferences, ownerReferences, "metadata.ownerReferences", true),
    ...(metadata.deletionTimestamp === undefined ? [] : ["it is being deleted"]),
  ];
}

function bodyOf({ apiVersion: _, kind: __, metadata: ___, status: ____, ...body }: KubeObject): object {
  return body;
}

function difference(live: unknown, wanted: unknown, path: string, exact: boolean): string[] {
  if (wanted === undefined && (!exact || OTHERS.some((pattern) => pattern.test(path)))) return [];
  const [left, right] = [fieldsOf(live), fieldsOf(wanted)];
  if (left === undefined || right === undefined) {
    return live === wanted || OTHERS.slice(0, 2).some((pattern) => pattern.test(path))
      ? []
      : [`${path}: ${JSON.stringify(live)} instead of ${JSON.stringify(wanted)}`];
  }
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].flatMap((key) => difference(left[key], right[key], path === "" ? key : `${path}.${key}`, exact));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined) return {};
  return value !== null && typeof value === "object" ? (value as Readonly<Record<string, unknown>>) : undefined;
}
