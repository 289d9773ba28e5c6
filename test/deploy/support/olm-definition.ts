/** How Operator Lifecycle Manager defines a ClusterServiceVersion: the CRD in its Go module, at one version with one checksum. */

import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { mustRun } from "../../cluster/command.ts";

const MODULE = "github.com/operator-framework/api@v0.27.0";
const CHECKSUM = "h1:OrVaGKZJvbZo58HTv2guz7aURkhVKYhFqZ/6VpifiXI=";
const FILE = "crds/operators.coreos.com_clusterserviceversions.yaml";

/** Undefined, with the reason on stderr, where neither the module nor a way to it is on this machine. */
export async function clusterServiceVersionDefinition(): Promise<CustomResourceDefinition | undefined> {
  const env = { ...process.env, GOFLAGS: "-mod=mod", GOWORK: "off" };
  let answer: string;
  try {
    answer = await mustRun(["go", "mod", "download", "-json", MODULE], { cwd: tmpdir(), env });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return undefined;
  }
  const { Dir = "", Sum } = JSON.parse(answer) as { readonly Dir?: string; readonly Sum?: string };
  if (Sum !== CHECKSUM) throw new Error(`${MODULE} has the checksum ${Sum}, not ${CHECKSUM}`);
  return parse(await readFile(join(Dir, FILE), "utf8"));
}
