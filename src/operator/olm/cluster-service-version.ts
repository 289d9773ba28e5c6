/**
 * The operator as a ClusterServiceVersion of Operator Lifecycle Manager: the Deployment and the rules of the release, and the
 * definition that it owns. The HyperConverged operator merges it into its own, `npm run release` puts it into a bundle. Pure.
 */

import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { MIN_KUBERNETES_VERSION, NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME, PRODUCT_VERSION } from "../../api/names.ts";
import type { Deployment } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { componentImages } from "../config/component-images.ts";
import type { PathRule, Rule } from "../manifests/rbac.ts";
import { type ReleaseChanges, release } from "../release.ts";

export interface CsvOptions extends Omit<ReleaseChanges, "version"> {
  /** Of the ClusterServiceVersion. */
  readonly version: string;
  /** Version that it takes the place of. */
  readonly replaces: string | undefined;
  readonly operatorVersion: string;
  readonly namespace: string;
  /** Of the operator's pod. */
  readonly image: string;
}

type Rules = readonly (Rule | PathRule)[];

export interface ClusterServiceVersion extends KubeObject {
  readonly spec: {
    readonly install: {
      readonly strategy: "deployment";
      readonly spec: {
        readonly permissions: readonly { readonly serviceAccountName: string; readonly rules: Rules }[];
        readonly clusterPermissions: readonly { readonly serviceAccountName: string; readonly rules: Rules }[];
        readonly deployments: readonly {
          readonly name: string;
          readonly label: Readonly<Record<string, string>>;
          readonly spec: Deployment["spec"];
        }[];
      };
    };
    readonly [field: string]: unknown;
  };
}

export interface OlmObjects {
  readonly clusterServiceVersion: ClusterServiceVersion;
  readonly definition: KubeObject;
}

const INSTALL_MODES = ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"];
const LABEL_PREFIX = "operatorframework.io";

const DISPLAY_NAME = "Cluster Network Addons";
const SUMMARY = "Additional networking components for Kubernetes";
const DESCRIPTION = `Deploys and repairs what KubeVirt's virtual machines need on secondary networks: Linux bridges, MAC addresses,
and the components of other projects that the NetworkAddonsConfig \`${NETWORK_ADDONS_CONFIG_NAME}\` names.

Delete the NetworkAddonsConfig before you remove the operator: only a running operator removes its components.`;

const EXAMPLE = {
  apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS),
  kind: NETWORK_ADDONS_CONFIGS.kind,
  metadata: { name: NETWORK_ADDONS_CONFIG_NAME },
  spec: { linuxBridge: {}, kubeMacPool: {} },
};

export function olmObjects({ version, replaces, operatorVersion, ...options }: CsvOptions): OlmObjects {
  const { namespace, image, componentImages: named, imageMirror, ...changes } = options;
  const { foundation, operator } = release(image, namespace, {
    ...changes,
    version: operatorVersion,
    // All of them, because clusters without internet mirror what a ClusterServiceVersion names.
    componentImages: componentImages(named, imageMirror),
  });
  const [namespaceObject, definition] = foundation as readonly [KubeObject, KubeObject];
  const workload = operator.find(({ kind }) => kind === "Deployment") as Deployment;
  const rulesOf = (kind: string) => [
    { serviceAccountName: OPERATOR_NAME, rules: operator.find((object) => object.kind === kind)?.rules as Rules },
  ];
  const clusterServiceVersion: ClusterServiceVersion = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: {
      name: `${OPERATOR_NAME}.${version}`,
      namespace: "placeholder",
      labels: Object.fromEntries(
        ["arch.amd64", "arch.arm64", "os.linux"].map((what) => [`${LABEL_PREFIX}/${what}`, "supported"]),
      ),
      annotations: {
        "alm-examples": JSON.stringify([EXAMPLE], undefined, 2),
        capabilities: "Full Lifecycle",
        categories: "Networking",
        containerImage: image,
        description: SUMMARY,
        [`${LABEL_PREFIX}/suggested-namespace`]: namespace,
        // The nodes' daemons need the level that the label names.
        [`${LABEL_PREFIX}/suggested-namespace-template`]: JSON.stringify(namespaceObject),
      },
    },
    spec: {
      displayName: DISPLAY_NAME,
      description: DESCRIPTION,
      keywords: ["Networking", "CNI", "Bridge", "MAC", "KubeVirt", "Virtualization"],
      version,
      ...(replaces === undefined ? {} : { replaces: `${OPERATOR_NAME}.${replaces}` }),
      minKubeVersion: MIN_KUBERNETES_VERSION,
      maturity: "alpha",
      provider: { name: DISPLAY_NAME },
      installModes: INSTALL_MODES.map((type) => ({ type, supported: true })),
      install: {
        strategy: "deployment",
        spec: {
          permissions: rulesOf("Role"),
          clusterPermissions: rulesOf("ClusterRole"),
          deployments: [{ name: OPERATOR_NAME, label: { ...workload.metadata.labels }, spec: workload.spec }],
        },
      },
      relatedImages: relatedImages(workload),
      customresourcedefinitions: {
        owned: [
          {
            name: definition.metadata.name,
            version: NETWORK_ADDONS_CONFIGS.version,
            kind: NETWORK_ADDONS_CONFIGS.kind,
            displayName: DISPLAY_NAME,
            description: "The network addons of the cluster.",
          },
        ],
      },
    },
  };
  return { clusterServiceVersion, definition };
}

/** The ClusterServiceVersion of this version of the product, from one image. */
export function ownCsvOptions(
  image: string,
  namespace: string,
  { replaces, mirror }: { readonly replaces?: string | undefined; readonly mirror?: string | undefined } = {},
): CsvOptions {
  const version = PRODUCT_VERSION;
  return { version, replaces, operatorVersion: version, namespace, image, imageMirror: mirror };
}

/** Every image that the workload has or names in its environment, once. */
function relatedImages({ spec }: Deployment): readonly { readonly name: string; readonly image: string }[] {
  const containers = spec?.template.spec?.containers ?? [];
  const images = containers.flatMap(({ image = "", env = [] }) => [
    image,
    ...env.filter(({ name }) => name.endsWith("_IMAGE")).map(({ value = "" }) => value),
  ]);
  return [...new Set(images)].map((image) => ({ name: baseName(image), image }));
}

/** Without registry, tag and digest. */
function baseName(image: string): string {
  return image.slice(image.lastIndexOf("/") + 1).replace(/[:@].*$/, "");
}
