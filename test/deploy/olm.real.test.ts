import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { CustomResourceDefinition } from "../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { defineResource, type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { mustRun } from "../cluster/command.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { releaseText } from "./support/release-text.ts";

/** How Operator Lifecycle Manager defines a ClusterServiceVersion: the CRD in its Go module, at one version with one checksum. */

const MODULE = "github.com/operator-framework/api@v0.27.0";
const CHECKSUM = "h1:OrVaGKZJvbZo58HTv2guz7aURkhVKYhFqZ/6VpifiXI=";
const DEFINITION = "crds/operators.coreos.com_clusterserviceversions.yaml";

/** Undefined, with the reason on stderr, where neither the module nor a way to it is on this machine. */
async function clusterServiceVersionDefinition(): Promise<CustomResourceDefinition | undefined> {
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
  return parse(await readFile(join(Dir, DEFINITION), "utf8"));
}

const FILE = "olm/manifests/cluster-network-addons-operator.clusterserviceversion.yaml";
const CSVS = defineResource("operators.coreos.com/v1alpha1", "ClusterServiceVersion", "clusterserviceversions", true);
const STRICT = { dryRun: true, fieldValidation: "Strict" } as const;

const definition = await clusterServiceVersionDefinition();

describe.skipIf(definition === undefined)("the bundle in the eyes of Operator Lifecycle Manager", () => {
  let controlPlane: ControlPlaneAccess;
  let admin: KubeClient;
  const written: KubeObject = parse(releaseText(FILE));
  const csv: KubeObject = { ...written, metadata: { ...written.metadata, namespace: "default" } };
  const spec = csv.spec as object;

  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
    admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    if (definition !== undefined) await admin.create(RESOURCES.crds, definition);
    await eventually("the kind is served", () => admin.list(CSVS));
  });
  afterAll(async () => {
    await admin?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  it("has a ClusterServiceVersion with known fields of the right types only", async () => {
    const taken = await admin.create(CSVS, csv, STRICT);
    expect(taken.spec).toEqual(spec);
  });

  it.each([
    ["a field that does not exist", { minKubernetesVersion: "1.30.0" }, 'unknown field "spec.minKubernetesVersion"'],
    ["a field of another type", { installModes: "all" }, "spec.installModes"],
    ["no way to install", { install: undefined }, "spec.install"],
  ])("would be refused with %s", async (_what, change, text) => {
    await expect(admin.create(CSVS, { ...csv, spec: { ...spec, ...change } }, STRICT)).rejects.toThrow(text);
  });
});
