import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";

/** Creates an object of a kind that its apiVersion and kind tell. */
export async function createAny(client: KubeClient, object: KubeObject): Promise<void> {
  const resource = Object.values(RESOURCES).find(
    ({ kind, group, version }) =>
      kind === object.kind && (group === "" ? version : `${group}/${version}`) === object.apiVersion,
  );
  if (resource === undefined) throw new Error(`no resource for ${object.apiVersion} ${object.kind}`);
  await client.create(resource as never, object as never);
}
