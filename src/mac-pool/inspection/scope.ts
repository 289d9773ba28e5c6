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
