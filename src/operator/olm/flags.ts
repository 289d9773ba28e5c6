/**
 * The flags of `/usr/bin/csv-generator`. Names and meanings are those of Cluster Network Addons Operator, whose callers pass
 * them; `--mirror` is that of `npm run release`. Unknown flags are taken. Of a flag that is given twice the last one counts,
 * as in Go. Pure.
 */

import { parseArgs } from "node:util";
import { DEFAULT_IMAGE, IMAGE_REPOSITORY } from "../../api/image.ts";
import { DEFAULT_NAMESPACE, PRODUCT_VERSION } from "../../api/names.ts";
import { IMAGE_PULL_POLICIES, type ImagePullPolicy } from "../../api/network-addons-config.ts";
import { type ComponentImage, IMAGE_MIRROR_PATTERN, IMAGE_MIRROR_TEXT } from "../config/component-images.ts";
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
  const image = [
    text("container-prefix")?.replace(/\/+$/, "") ?? IMAGE_REPOSITORY.slice(0, IMAGE_REPOSITORY.lastIndexOf("/")),
    `${text("image-name") ?? IMAGE_REPOSITORY.slice(IMAGE_REPOSITORY.lastIndexOf("/") + 1)}:${
      text("container-tag") ?? DEFAULT_IMAGE.slice(IMAGE_REPOSITORY.length + 1)
    }`,
  ].join("/");
  const named = Object.entries(COMPONENT_IMAGES).map(([variable, name]) => [variable, text(name)] as const);
  return {
    version: text("version") ?? text("csv-version") ?? PRODUCT_VERSION,
    replaces: text("version-replaces"),
    operatorVersion: text("operator-version") ?? PRODUCT_VERSION,
    namespace: text("namespace") ?? DEFAULT_NAMESPACE,
    image,
    imagePullPolicy: pullPolicy(text("image-pull-policy")),
    images: {
      linuxBridge: text(OWN_IMAGES.linuxBridge) ?? image,
      bridgeMarker: text(OWN_IMAGES.bridgeMarker) ?? image,
      kubeMacPool: text(OWN_IMAGES.kubeMacPool) ?? image,
    },
    componentImages: Object.fromEntries(named.filter(([, name]) => name !== undefined)),
    imageMirror: mirror(text("mirror")),
    dumpCrds: truth(values[DUMP_CRDS]),
  };
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
