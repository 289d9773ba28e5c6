import { describeHosts, describeHostsUnnamed, type HostInterface } from "../../../api/host-interfaces.ts";

/** What a reader may see: everything, or what concerns one namespace. */
export interface Scope {
  /** Undefined: everything. */
  readonly namespace: string | undefined;
}

export const EVERYTHING: Scope = { namespace: undefined };

export function sees({ namespace }: Scope, object: { readonly namespace: string }): boolean {
  return namespace === undefined || namespace === object.namespace;
}

/** The objects that a reader may see, and the number of the others. */
export function seen<T extends { readonly namespace: string }>(
  scope: Scope,
  objects: readonly T[],
): { readonly visible: readonly T[]; readonly elsewhere: number } {
  const visible = objects.filter((object) => sees(scope, object));
  return { visible, elsewhere: objects.length - visible.length };
}

/** What of nodes has an address, where anything has. Nodes and their interfaces are of the whole cluster. */
export function hostAddressIn(
  { namespace }: Scope,
  hosts: readonly HostInterface[],
): { readonly hostAddress?: string } {
  if (hosts.length === 0) return {};
  return { hostAddress: namespace === undefined ? describeHosts(hosts) : describeHostsUnnamed(hosts) };
}
