/** API groups that answer 503, as where the server or the conversion webhook of another product is down. */

import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import type { InstalledOperator } from "./installed-operator.ts";

/**
 * Defines the kinds of one group, and resolves when the API server answers 503 for them. Disposing of it ends that; the kinds
 * stay.
 */
export async function breakGroup(
  cluster: Pick<InstalledOperator, "kubectl" | "admin">,
  definitions: readonly CustomResourceDefinition[],
): Promise<AsyncDisposable> {
  const [{ group, names, versions }] = definitions.map(({ spec }) => spec) as [CustomResourceDefinition["spec"]];
  const version = versions[0]?.name;
  const service = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `${version}.${group}` },
    spec: {
      group,
      version,
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { name: "nobody", namespace: "default" },
    },
  };
  await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(service));
  for (const definition of definitions) await cluster.admin.create(RESOURCES.crds, definition);
  const path = `/apis/${group}/${version}/${names.plural}`;
  await eventually(`503 of ${path}`, async () => (await cluster.admin.raw("GET", path)).status === 503);
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl(["delete", "apiservice", service.metadata.name]);
    },
  };
}
