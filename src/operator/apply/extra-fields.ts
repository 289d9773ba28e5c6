/**
 * What others changed in an object that belongs to the operator whole. Server-side apply leaves additions alone, and many
 * change what the object means: a key in a selector, a second container, a rule in a role. Pure.
 */

import type { KubeObject } from "../../kube/client/resource.ts";

/** Keepers of certificates, `kubectl rollout restart` and the API server write these. They change nothing of ours. */
const HARMLESS = [
  /^\.webhooks\.\d+\.clientConfig\.caBundle$/,
  /^\.spec\.template\.metadata\.(labels|annotations)(\.|$)/,
  /^\.spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy)$/,
];

const NOT_COMPARED = ["apiVersion", "kind", "metadata", "status"];

/**
 * Path of the first field in which `live` differs from `complete`: the same object as the API server would store it if nobody
 * had touched it. Undefined where there is none.
 */
export function extraField(live: KubeObject, complete: KubeObject): string | undefined {
  return difference(body(live), body(complete), "")?.slice(1);
}

/** The wanted object, with what others may add to it, to take the place of exactly this `live`. */
export function replacementFor(live: KubeObject, wanted: KubeObject): KubeObject {
  const { uid, resourceVersion, labels, annotations, finalizers } = live.metadata;
  const metadata = {
    ...wanted.metadata,
    uid,
    resourceVersion,
    labels: { ...labels, ...wanted.metadata.labels },
    annotations: { ...annotations, ...wanted.metadata.annotations },
    ...(finalizers === undefined ? {} : { finalizers }),
  };
  return { ...(withHarmless(wanted, live, "") as KubeObject), metadata };
}

type Fields = Readonly<Record<string, unknown>>;

function body(object: KubeObject): Fields {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !NOT_COMPARED.includes(key)));
}

function isHarmless(path: string): boolean {
  return HARMLESS.some((pattern) => pattern.test(path));
}

function difference(live: unknown, complete: unknown, path: string): string | undefined {
  if (isHarmless(path)) return undefined;
  const [left, right] = [fieldsOf(live), fieldsOf(complete)];
  if (left === undefined || right === undefined) return live === complete ? undefined : path;
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const found = difference(left[key], right[key], `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of a list by index. The API server drops empty objects and lists as it likes, so an absent one is empty too. */
function fieldsOf(value: unknown): Fields | undefined {
  if (value === undefined) return {};
  return value !== null && typeof value === "object" ? (value as Fields) : undefined;
}

function withHarmless(wanted: unknown, live: unknown, path: string): unknown {
  if (wanted === null || typeof wanted !== "object") return wanted;
  if (Array.isArray(wanted)) {
    return wanted.map((element, index) => withHarmless(element, sameName(live, element), `${path}.${index}`));
  }
  const theirs = fieldsOf(live) ?? {};
  const own = Object.entries(wanted).map(([key, value]) => [key, withHarmless(value, theirs[key], `${path}.${key}`)]);
  const kept = Object.entries(theirs).filter(([key]) => !Object.hasOwn(wanted, key) && isHarmless(`${path}.${key}`));
  return Object.fromEntries([...kept, ...own]);
}

function sameName(live: unknown, wanted: unknown): unknown {
  const name = (element: unknown): unknown => fieldsOf(element)?.name;
  return Array.isArray(live) && name(wanted) !== undefined
    ? live.find((element) => name(element) === name(wanted))
    : undefined;
}
