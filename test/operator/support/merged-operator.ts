/**
 * The operator as a build of the HyperConverged operator installs it: what csv-generator prints, taken apart as that build
 * does it. The operator runs in this process with the rights and the environment that come out.
 */

import { join } from "node:path";
import { expect } from "vitest";
import { parse } from "yaml";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { appliedKind } from "../../../src/operator/apply/applied-kinds.ts";
import { componentImages } from "../../../src/operator/config/component-images.ts";
import { settingsFor } from "../../../src/operator/config/settings.ts";
import type { ClusterServiceVersion } from "../../../src/operator/olm/cluster-service-version.ts";
import { mustRun } from "../../cluster/command.ts";
import { InstalledOperator } from "./installed-operator.ts";

export const HCO_NAMESPACE = "kubevirt-hyperconverged";
const GENERATOR = join(import.meta.dirname, "../../../src/operator/olm/main.ts");

export const runCsvGenerator = (flags: readonly string[]): Promise<string> =>
  mustRun([process.execPath, GENERATOR, ...flags]);

/** The documents by the kind that a line names. YAML is read as version 1.1, which that build's parser knows. */
export function splitManifests(
  text: string,
): ReadonlyMap<string, { readonly text: string; readonly object: KubeObject }> {
  const documents = text.split(/^---\n/m).filter((document) => document !== "");
  return new Map(
    documents.map((document) => {
      const kinds = document.split("\n").filter((line) => line.startsWith("kind: "));
      expect(kinds).toHaveLength(1);
      const object = parse(document, { version: "1.1" }) as KubeObject;
      return [kinds[0]?.slice("kind: ".length) ?? "", { text: document, object }];
    }),
  );
}

/** Accounts, roles, bindings and Deployments, each named after its account. */
export function mergedObjects(csv: ClusterServiceVersion): KubeObject[] {
  const { permissions, clusterPermissions, deployments } = csv.spec.install.spec;
  const rbac = "rbac.authorization.k8s.io";
  const bound = (prefix: "" | "Cluster", { serviceAccountName: name, rules }: (typeof permissions)[number]) => {
    const metadata = { name, labels: { name }, ...(prefix === "" ? { namespace: HCO_NAMESPACE } : {}) };
    const kind = `${prefix}Role`;
    return [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata, namespace: HCO_NAMESPACE } },
      { apiVersion: `${rbac}/v1`, kind, metadata, rules },
      {
        apiVersion: `${rbac}/v1`,
        kind: `${kind}Binding`,
        metadata,
        roleRef: { apiGroup: rbac, kind, name },
        subjects: [{ kind: "ServiceAccount", name, namespace: HCO_NAMESPACE }],
      },
    ];
  };
  return [
    ...permissions.flatMap((permission) => bound("", permission)),
    ...clusterPermissions.flatMap((permission) => bound("Cluster", permission)),
    ...deployments.map(({ name, spec }) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace: HCO_NAMESPACE, labels: { name } },
      spec,
    })),
  ];
}

/** Nothing of the product is there yet. */
export async function prepareMerged(): Promise<InstalledOperator> {
  const cluster = await InstalledOperator.prepare(undefined, HCO_NAMESPACE);
  await cluster.admin.create(RESOURCES.namespaces, { metadata: { name: HCO_NAMESPACE } });
  return cluster;
}

/** Installs the output of csv-generator, or another one over it, and starts the operator with the environment in it. */
export async function installMerged(cluster: InstalledOperator, output: string): Promise<void> {
  const manifests = splitManifests(output);
  const definition = manifests.get("CustomResourceDefinition")?.object as CustomResourceDefinition;
  const csv = manifests.get("ClusterServiceVersion")?.object as ClusterServiceVersion;
  const options = { fieldManager: "olm", force: true, fieldValidation: "Strict" as const };
  await cluster.admin.apply(RESOURCES.crds, definition, options);
  for (const object of mergedObjects(csv)) await cluster.admin.apply(appliedKind(object).resource, object, options);
  const [container] = csv.spec.install.spec.deployments[0]?.spec?.template.spec?.containers ?? [];
  const variables = Object.fromEntries((container?.env ?? []).map(({ name, value = "" }) => [name, value]));
  const { OPERATOR_VERSION: version = "", ...rest } = variables;
  const settings = settingsFor(container?.image ?? "", HCO_NAMESPACE);
  await cluster.stop();
  cluster.start({ ...settings, version, componentImages: componentImages(rest) });
}
