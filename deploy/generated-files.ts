/**
 * The files of a release that are made from code: the CRDs, and the release as plain YAML, as a Helm chart, for kustomize and
 * for Operator Lifecycle Manager, and the dashboard. `npm run release` writes them all. What people read in git is in deploy/
 * as well; a test fails when it differs from what the code gives.
 */

import { CRDS, NETWORK_ADDONS_CONFIG_CRD } from "../src/api/crds.ts";
import { DEFAULT_IMAGE } from "../src/api/image.ts";
import { DEFAULT_NAMESPACE } from "../src/api/names.ts";
import { release, releaseObjects } from "../src/operator/release.ts";
import { crdWithoutValidation } from "./crd-without-validation.ts";
import { helmChart } from "./helm-chart.ts";
import { kustomizationBase, kustomizationOverlay } from "./kustomize-files.ts";
import { grafanaDashboard } from "./monitoring/grafana-dashboard.ts";
import { objectsYaml } from "./object-yaml.ts";
import { olmBundle } from "./olm-bundle.ts";

/** Below deploy/, in git. deploy/release.yaml is a link to that of the kustomize base: kustomize reads no file outside of its own folder. */
const FOLDERS_IN_GIT = ["crds", "helm", "kustomize"];

export interface GeneratedFile {
  /** Relative to the folder of the release. */
  readonly path: string;
  readonly text: string;
}

export interface PackageOptions {
  /** Version that the bundle's takes the place of. */
  readonly replaces?: string | undefined;
  /** Goes before the names of other projects' images. */
  readonly mirror?: string | undefined;
}

/** `image`: the reference that every pod gets. */
export function releaseFiles(image: string = DEFAULT_IMAGE, options: PackageOptions = {}): GeneratedFile[] {
  const { mirror } = options;
  const parts = release(image, DEFAULT_NAMESPACE, { imageMirror: mirror });
  const all = objectsYaml(releaseObjects(parts));
  return [
    ...CRDS.map((definition) => ({
      path: `crds/${definition.spec.names.plural}.yaml`,
      text: objectsYaml([definition]),
    })),
    {
      path: "crds-without-rules/networkaddonsconfigs.yaml",
      text: objectsYaml([crdWithoutValidation(NETWORK_ADDONS_CONFIG_CRD, parts.foundation[1]?.metadata.labels)]),
    },
    { path: "release.yaml", text: all },
    { path: "operator.yaml", text: objectsYaml(parts.operator) },
    ...olmBundle(image, options).map(({ path, text }) => ({ path: `olm/${path}`, text })),
    ...helmChart(image, mirror).map(({ path, text }) => ({ path: `helm/${path}`, text })),
    { path: "monitoring/grafana-dashboard.json", text: `${JSON.stringify(grafanaDashboard(), null, 2)}\n` },
    { path: "kustomize/base/kustomization.yaml", text: kustomizationBase() },
    { path: "kustomize/base/release.yaml", text: all },
    {
      path: "kustomize/overlay/kustomization.yaml",
      text: kustomizationOverlay(image.replace(/(@sha256:\w+|:[\w.-]+)$/, "")),
    },
  ];
}

export function filesInGit(): GeneratedFile[] {
  return releaseFiles().filter(({ path }) => FOLDERS_IN_GIT.some((folder) => path.startsWith(`${folder}/`)));
}
