import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "../api/kinds.ts";
import { isNamespaceName } from "../api/legal-names.ts";
import { type KubeObject, RESOURCES } from "../kube/client/resource.ts";
import type { Manifest } from "./manifests.ts";
import { type Network, networkIn } from "./networks.ts";
import { notTextIn } from "./text-fields.ts";

/** An object of a file that something is said about before it is applied. */
export interface CheckSubject {
  readonly manifest: Manifest;
  readonly object: KubeObject;
  readonly kind: string;
  readonly namespace: string;
  /** With `*` in place of what the API server adds. */
  readonly name: string;
  /** For the lint. */
  readonly network?: Network;
  /** Of the resource, for a dry run. */
  readonly plural?: string;
  /** Why no server takes it. */
  readonly fault?: string;
}

/** What the webhooks of the product are asked about, in any version. */
const REVIEWED = [
  VIRTUAL_MACHINES,
  VIRTUAL_MACHINE_INSTANCES,
  { group: RESOURCES.pods.group, kind: RESOURCES.pods.kind, plural: RESOURCES.pods.plural },
];

/** As Kubernetes names versions. Anything else must not get into the path of a request. */
const VERSION = /^v\d{1,3}((alpha|beta)\d{1,3})?$/;

/** Undefined for an object of another kind. */
export function checkSubject(manifest: Manifest, defaultNamespace: string): CheckSubject | undefined {
  const { apiVersion, kind, metadata } = (manifest.object ?? {}) as Readonly<Record<string, unknown>>;
  const given = (typeof metadata === "object" && metadata !== null ? metadata : {}) as Readonly<
    Record<string, unknown>
  >;
  const prefix = textOf(given.generateName);
  const common = {
    manifest,
    object: { ...(manifest.object as object), metadata: given },
    kind: textOf(kind),
    namespace: textOf(given.namespace) || defaultNamespace,
    name: textOf(given.name) || (prefix && `${prefix}*`),
  };
  const version = textOf(apiVersion);
  if (common.kind === "" || version === "") return { ...common, fault: "it has no apiVersion or no kind. Write both." };
  const network = networkIn(manifest, defaultNamespace);
  const faultOfText = notTextIn(common.object);
  if (network !== undefined) return { ...common, network, ...(faultOfText && { fault: faultOfText }) };
  const slash = version.indexOf("/");
  const group = version.slice(0, Math.max(0, slash));
  const reviewed = REVIEWED.find((one) => one.group === group && one.kind === kind);
  if (reviewed === undefined) return undefined;
  const fault = VERSION.test(version.slice(slash + 1))
    ? (faultOf(common) ?? faultOfText)
    : `${JSON.stringify(version)} is no version of ${common.kind}. Write the one of its API.`;
  return { ...common, plural: reviewed.plural, ...(fault === undefined ? {} : { fault }) };
}

function faultOf({ object, namespace }: Pick<CheckSubject, "object" | "namespace">): string | undefined {
  if (!isNamespaceName(namespace)) {
    return `${JSON.stringify(namespace)} can't be the name of a namespace. Write small letters, digits and "-".`;
  }
  try {
    JSON.stringify(object);
    return undefined;
  } catch {
    return "it contains itself, by an alias. Write it without the alias.";
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
