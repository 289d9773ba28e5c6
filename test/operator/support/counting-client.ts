import { KubeClient } from "../../../src/kube/client/client.ts";

/** Counts what an operator sends, by verb, without the renewals of its Lease. */
export class CountingClient extends KubeClient {
  writes: string[] = [];
  /** Updates that were only tried. Where the object has changed meanwhile, the second one, without its version, is none of them. */
  tries: string[] = [];
  reads = 0;

  override get: KubeClient["get"] = (resource, ref, options) => {
    this.reads++;
    return super.get(resource, ref, options);
  };

  override apply: KubeClient["apply"] = (resource, object, options) => {
    if (!options?.dryRun) this.writes.push(`apply ${object.kind} ${object.metadata.name}`);
    return super.apply(resource, object, options);
  };

  override update: KubeClient["update"] = (resource, object, options) => {
    const what = `${resource.kind} ${object.metadata.name}`;
    if (resource.kind !== "Lease" && !options?.dryRun) this.writes.push(`update ${what}`);
    if (options?.dryRun && object.metadata.resourceVersion) this.tries.push(what);
    return super.update(resource, object, options);
  };

  override patch: KubeClient["patch"] = (resource, ref, patch, options) => {
    this.writes.push(`patch ${resource.kind} ${ref.name}`);
    return super.patch(resource, ref, patch, options);
  };

  override delete: KubeClient["delete"] = (resource, ref, options) => {
    this.writes.push(`delete ${resource.kind} ${ref.name}`);
    return super.delete(resource, ref, options);
  };
}
