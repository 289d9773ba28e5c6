/**
 * The flags of `/usr/bin/csv-generator`. Names and meanings are those of Cluster Network Addons Operator, whose callers pass
 * them; `--mirror` is that of `npm run release`. Unknown flags are taken. Of a flag that is given twice the last one counts,
 * as in Go. Pure.
 */

import { parseArgs } from "node:util";
import { DEFAULT_IMAGE, IMAGE_REPOSITORY } from "../../api/image.ts";
import { isNamespaceName } from "../../api/legal-names.ts";
import { DEFAULT_NAMESPACE, PRODUCT_VERSION } from "../../api/names.ts";
import { IMAGE_PULL_POLICIES, type ImagePullPolicy } from "../../api/network-addons-config.ts";
import {
  type ComponentImage,
  IMAGE_MIRROR_PATTERN,
  IMAGE_MIRROR_TEXT,
  IMAGE_PATTERN,
  IMAGE_TEXT,
} from "../config/component-images.ts";
import type { Images } from "../config/settings.ts";
import type { CsvOptions } from "./cluster-service-version.ts";

export interface CsvFlags extends CsvOptions {
  /** Whether the definition of the NetworkAddonsConfig follows. */
  readonly dumpCrds: boolean;
}

const OWN_IMAGES: Readonly<Record<keyof Images, string>> = {
  linuxBridge: "linux-bridge-cni-image",
  bridgeMarker: "linux-bridge-marker-image",
  kubeMacPool: "kubemacpool-image",
};

const COMPONENT_IMAGES: Readonly<Record<ComponentImage, string>> = {
  MULTUS_IMAGE: "multus-image",
  MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE: "multus-dynamic-networks-image",
  OVS_CNI_IMAGE: "ovs-cni-image",
  MACVTAP_CNI_IMAGE: "macvtap-cni-image",
  KUBE_SECONDARY_DNS_IMAGE: "kube-secondary-dns",
  CORE_DNS_IMAGE: "core-dns-image",
  KUBEVIRT_IPAM_CONTROLLER_IMAGE: "kubevirt-ipam-controller",
};

/** With a value each. */
const TEXTS = [
  "version",
  "csv-version",
  "version-replaces",
  "operator-version",
  "namespace",
  "container-prefix",
  "image-name",
  "container-tag",
  "image-pull-policy",
  "mirror",
  ...Object.values(OWN_IMAGES),
  ...Object.values(COMPONENT_IMAGES),
];
const DUMP_CRDS = "dump-crds";
const TRUE = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE = ["0", "f", "F", "FALSE", "false", "False"];

/** Throws one sentence. */
export function readFlags(args: readonly string[]): CsvFlags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(TEXTS.map((name) => [name, { type: "string" as const }])),
      [DUMP_CRDS]: { type: "boolean" },
    },
    strict: false,
    allowPositionals: true,
  });
  /** Undefined where the flag is empty, or not given. */
  const text = (name: string): string | undefined => {
    const value = values[name];
    if (value === true) throw new Error(`--${name} needs a value`);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  /** The same of a flag that names an image. */
  const namedImage = (name: string): string | undefined => {
    const named = text(name);
    return named === undefined ? undefined : checkedImage(`--${name}`, named);
  };
  const image = [
    text("container-prefix")?.replace(/\/+$/, "") ?? IMAGE_REPOSITORY.slice(0, IMAGE_REPOSITORY.lastIndexOf("/")),
    `${text("image-name") ?? IMAGE_REPOSITORY.slice(IMAGE_REPOSITORY.lastIndexOf("/") + 1)}:${
      text("container-tag") ?? DEFAULT_IMAGE.slice(IMAGE_REPOSITORY.length + 1)
    }`,
  ].join("/");
  checkedImage("--container-prefix, --image-name and --container-tag make", image);
  const named = Object.entries(COMPONENT_IMAGES).map(([variable, name]) => [variable, namedImage(name)] as const);
  const csvVersion =
    version("--version", text("version")) ?? version("--csv-version", text("csv-version")) ?? PRODUCT_VERSION;
  const replaces = version("--version-replaces", text("version-replaces"));
  if (replaces === csvVersion) throw new Error(`--version-replaces ${replaces} is the version itself`);
  return {
    version: csvVersion,
    replaces,
    operatorVersion: operatorVersion(text("operator-version")),
    namespace: namespace(text("namespace")),
    image,
    imagePullPolicy: pullPolicy(text("image-pull-policy")),
    images: {
      linuxBridge: namedImage(OWN_IMAGES.linuxBridge) ?? image,
      bridgeMarker: namedImage(OWN_IMAGES.bridgeMarker) ?? image,
      kubeMacPool: namedImage(OWN_IMAGES.kubeMacPool) ?? image,
    },
    componentImages: Object.fromEntries(named.filter(([, name]) => name !== undefined)),
    imageMirror: mirror(text("mirror")),
    dumpCrds: truth(values[DUMP_CRDS]),
  };
}

function checkedImage(from: string, image: string): string {
  if (new RegExp(IMAGE_PATTERN).test(image)) return image;
  throw new Error(`${from} "${image}": ${IMAGE_TEXT}`);
}

/** Of a ClusterServiceVersion: a semantic version without build metadata, which no name of an object may have. */
export function isVersion(text: string): boolean {
  return /^\d+\.\d+\.\d+(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/.test(text);
}

function version(flag: string, value: string | undefined): string | undefined {
  if (value === undefined || isVersion(value)) return value;
  throw new Error(`${flag} "${value}" is no version: write MAJOR.MINOR.PATCH, such as 0.9.1`);
}

/** Whatever a build calls its versions, such as v0.102.0-3.hco+main. */
function operatorVersion(value = PRODUCT_VERSION): string {
  if (/^\w[\w.+-]*$/.test(value)) return value;
  throw new Error(`--operator-version ${JSON.stringify(value)} is no version: it has letters, digits and . _ + -`);
}

function namespace(name = DEFAULT_NAMESPACE): string {
  if (isNamespaceName(name)) return name;
  throw new Error(`--namespace "${name}" is no name of a namespace: it has lower-case letters, digits and -`);
}

function pullPolicy(text = "IfNotPresent"): ImagePullPolicy {
  const known = IMAGE_PULL_POLICIES.find((policy) => policy === text);
  if (known !== undefined) return known;
  throw new Error(`--image-pull-policy has to be one of ${IMAGE_PULL_POLICIES.join(", ")}, found "${text}"`);
}

function mirror(prefix: string | undefined): string | undefined {
  if (prefix === undefined || new RegExp(IMAGE_MIRROR_PATTERN).test(prefix)) return prefix;
  throw new Error(`--mirror ${prefix} is none: ${IMAGE_MIRROR_TEXT}`);
}

function truth(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  if (value === undefined || FALSE.some((text) => text === value)) return false;
  if (TRUE.some((text) => text === value)) return true;
  throw new Error(`--${DUMP_CRDS} has to be true or false, found "${value}"`);
}
