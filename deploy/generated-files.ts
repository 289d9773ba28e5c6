/**
 * The files in deploy/ that are made from code: the CRDs, and the release as plain YAML, as a Helm chart, for kustomize and
 * for Operator Lifecycle Manager, and the dashboard.
 * A test fails when they differ from what is in the tree.
 */

import { CRDS, NETWORK_ADDONS_CONFIG_CRD } from "../src/api/crds.ts";
import { DEFAULT_IMAGE } from "../src/api/image.ts";
import { release, releaseObjects } from "../src/operator/release.ts";
import { crdWithoutValidation } from "./crd-without-validation.ts";
import { helmChart } from "./helm-chart.ts";
import { kustomizationBase, kustomizationOverlay } from "./kustomize-files.ts";
import { grafanaDashboard } from "./monitoring/grafana-dashboard.ts";
import { objectsYaml } from "./object-yaml.ts";
import { olmBundle } from "./olm-bundle.ts";

export interface GeneratedFile {
  /** Relative to the repository's root. */
  readonly path: string;
  readonly text: string;
}

export interface PackageOptions {
  /** Version that the bundle's takes the place of. */
  readonly replaces?: string | undefined;
}

/** `image`: the reference that every pod gets. */
export function generatedFiles(image: string = DEFAULT_IMAGE, { replaces }: PackageOptions = {}): GeneratedFile[] {
  const parts = release(image);
  const all = objectsYaml(releaseObjects(parts));
  return [
    ...CRDS.map((definition) => ({
      path: `deploy/crds/${definition.spec.names.plural}.yaml`,
      text: objectsYaml([definition]),
    })),
    {
      path: "deploy/crds-without-rules/networkaddonsconfigs.yaml",
      text: objectsYaml([crdWithoutValidation(NETWORK_ADDONS_CONFIG_CRD, parts.foundation[1]?.metadata.labels)]),
    },
    { path: "deploy/release.yaml", text: all },
    { path: "deploy/operator.yaml", text: objectsYaml(parts.operator) },
    ...olmBundle(image, replaces).map(({ path, text }) => ({ path: `deploy/olm/${path}`, text })),
    ...helmChart(image).map(({ path, text }) => ({ path: `deploy/helm/${path}`, text })),
    { path: "deploy/monitoring/grafana-dashboard.json", text: `${JSON.stringify(grafanaDashboard(), null, 2)}\n` },
    { path: "deploy/kustomize/base/kustomization.yaml", text: kustomizationBase() },
    { path: "deploy/kustomize/base/release.yaml", text: all },
    {
      path: "deploy/kustomize/overlay/kustomization.yaml",
      text: kustomizationOverlay(image.replace(/(@sha256:\w+|:[\w.-]+)$/, "")),
    },
  ];
}
