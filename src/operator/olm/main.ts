/**
 * `/usr/bin/csv-generator` of the image: prints the operator's ClusterServiceVersion, and with `--dump-crds` the definition of
 * the NetworkAddonsConfig after it. Builds of the HyperConverged operator run it.
 */

import { objectYaml } from "../../kube/client/object-yaml.ts";
import { olmObjects } from "./cluster-service-version.ts";
import { readFlags } from "./flags.ts";

try {
  const { dumpCrds, ...options } = readFlags(process.argv.slice(2));
  const { clusterServiceVersion, definition } = olmObjects(options);
  const objects = dumpCrds ? [clusterServiceVersion, definition] : [clusterServiceVersion];
  process.stdout.write(objects.map((object) => objectYaml(object)).join("---\n"));
} catch (error) {
  console.error(`csv-generator: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
