/** The bundle for Operator Lifecycle Manager, in its format registry+v1: the ClusterServiceVersion, the CRD and annotations. */

import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../src/api/names.ts";
import { olmObjects, ownCsvOptions } from "../src/operator/olm/cluster-service-version.ts";
import type { PackageOptions } from "./generated-files.ts";
import type { ChartFile } from "./helm-chart.ts";
import { HEADER, objectsYaml, objectYaml } from "./object-yaml.ts";

const PACKAGE = "cluster-network-addons";
const CHANNEL = "alpha";
const ANNOTATION = "operators.operatorframework.io.bundle";

/** `replaces`: the version that this one takes the place of, which only the owner of a catalog knows. */
export function olmBundle(image: string, options: PackageOptions): ChartFile[] {
  const { clusterServiceVersion, definition } = olmObjects(ownCsvOptions(image, DEFAULT_NAMESPACE, options));
  const annotations = {
    [`${ANNOTATION}.mediatype.v1`]: "registry+v1",
    [`${ANNOTATION}.manifests.v1`]: "manifests/",
    [`${ANNOTATION}.metadata.v1`]: "metadata/",
    [`${ANNOTATION}.package.v1`]: PACKAGE,
    [`${ANNOTATION}.channels.v1`]: CHANNEL,
    [`${ANNOTATION}.channel.default.v1`]: CHANNEL,
  };
  return [
    {
      path: `manifests/${OPERATOR_NAME}.clusterserviceversion.yaml`,
      text: objectsYaml([clusterServiceVersion]),
    },
    { path: "manifests/networkaddonsconfigs.crd.yaml", text: objectsYaml([definition]) },
    { path: "metadata/annotations.yaml", text: HEADER + objectYaml({ annotations }) },
  ];
}
