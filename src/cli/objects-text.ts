import { stringify } from "yaml";
import type { KubeObject } from "../kube/client/resource.ts";
import type { Output } from "./command-line.ts";

/** Objects for programs: json, yaml or names; undefined for the outputs that are for people. */
export function formatObjects(objects: readonly KubeObject[], output: Output): string | undefined {
  if (output === "name") return objects.map((object) => `${resourceName(object)}\n`).join("");
  if (output !== "json" && output !== "yaml") return undefined;
  const items = objects.map(withoutManagedFields);
  const list = { apiVersion: "v1", kind: "List", items };
  return output === "json" ? `${JSON.stringify(list, null, 2)}\n` : stringify(list);
}

/** `macclaim.macpool.network.kubevirt.io/mac-...`, which kubectl takes as an argument. */
function resourceName({ apiVersion = "", kind = "", metadata }: KubeObject): string {
  const group = apiVersion.split("/")[0];
  return `${kind.toLowerCase()}.${group}/${metadata.name}`;
}

function withoutManagedFields(object: KubeObject): object {
  const { managedFields: _, ...metadata } = object.metadata as Record<string, unknown>;
  const { apiVersion, kind, ...rest } = object;
  return { apiVersion, kind, ...rest, metadata };
}
