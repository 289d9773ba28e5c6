import { type NadRef, nadOf } from "../api/claim-network.ts";
import { NETWORK_ATTACHMENT_DEFINITIONS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "../api/kinds.ts";
import { isNamespaceName } from "../api/legal-names.ts";
import { NETWORKS_ANNOTATION } from "../api/names.ts";
import { parseNetworkSelection } from "../api/network-selection.ts";
import { type KubeObject, RESOURCES } from "../kube/client/resource.ts";
import type { Manifest } from "./manifests.ts";
import { type Network, networkIn } from "./networks.ts";

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
  NETWORK_ATTACHMENT_DEFINITIONS,
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
  const slash = version.indexOf("/");
  const group = version.slice(0, Math.max(0, slash));
  const reviewed = REVIEWED.find((one) => one.group === group && one.kind === kind);
  if (reviewed === undefined) return undefined;
  const fault = VERSION.test(version.slice(slash + 1))
    ? (faultOf(common) ?? notTextIn(common.object))
    : `${JSON.stringify(version)} is no version of ${common.kind}. Write the one of its API.`;
  const network = networkIn(manifest, defaultNamespace);
  return {
    ...common,
    plural: reviewed.plural,
    ...(network === undefined ? {} : { network }),
    ...(fault === undefined ? {} : { fault }),
  };
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

/** The NetworkAttachmentDefinitions that a VM, a VMI or a pod names; what names none is left out. */
export function networksNamedBy({ object, kind, namespace }: CheckSubject): readonly NadRef[] {
  if (kind === RESOURCES.pods.kind) {
    const selection = parseNetworkSelection(textOf(fieldsOf(object.metadata.annotations)[NETWORKS_ANNOTATION]));
    const elements = "elements" in selection ? selection.elements : [];
    return elements.map(({ namespace: own, name }) => ({ namespace: own || namespace, name }));
  }
  const spec = fieldsOf((object as { readonly spec?: unknown }).spec);
  const { networks } = fieldsOf(fieldsOf(spec.template).spec ?? spec);
  return (Array.isArray(networks) ? networks : []).flatMap((network) => {
    const name = textOf(fieldsOf(fieldsOf(network).multus).networkName);
    return nadOf(`multus ${name}`, namespace) ?? [];
  });
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Where the API server takes text only, a value without quotes may be something else for kubectl. */
type Fields = Readonly<Record<string, unknown>>;

/** A sentence about the first value that is no text. */
function notTextIn(object: object): string | undefined {
  const { metadata, spec } = object as { readonly metadata?: unknown; readonly spec?: unknown };
  const template = fieldsOf(fieldsOf(spec).template);
  const devices = fieldsOf(fieldsOf(fieldsOf(template.spec ?? spec).domain).devices);
  const interfaces = Array.isArray(devices.interfaces) ? devices.interfaces : [];
  const texts = [
    ...textsOf(fieldsOf(metadata), "metadata"),
    ...textsOf(fieldsOf(template.metadata), "spec.template.metadata"),
    ...interfaces.map((nic, index) => [`macAddress of interfaces[${index}]`, fieldsOf(nic).macAddress] as const),
  ];
  const [place, value] = texts.find(([, one]) => typeof one === "boolean" || typeof one === "number") ?? [];
  if (place === undefined) return undefined;
  return `${place} is the ${typeof value} ${value} for kubectl, and the API server takes text only. Write it between quotes.`;
}

function textsOf({ name, generateName, namespace, labels, annotations }: Fields, place: string) {
  const maps = { labels, annotations };
  return [
    ...Object.entries({ name, generateName, namespace }).map(([key, value]) => [`${place}.${key}`, value] as const),
    ...Object.entries(maps).flatMap(([map, entries]) =>
      Object.entries(fieldsOf(entries)).map(([key, value]) => [`${place}.${map}["${key}"]`, value] as const),
    ),
  ];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
