import { batch, signal } from "@preact/signals";

/** Who reads. In memory only: a reload forgets it. */

/** A bearer token that the reader gave. Behind `kubectl macpool ui` none is needed. */
export const token = signal<string | undefined>(undefined);

/** Whether the pool has refused to answer without another token. */
export const isSignedOut = signal(false);

/** The namespace that the lists are limited to. Readers with rights in one namespace have to name it. */
export const namespace = signal<string | undefined>(undefined);

/** Whether who serves the page tells the ways of interfaces too: `kubectl macpool ui` does, with the rights of its user. */
export const tellsWays = signal(false);

/** Whether pools, and with them the map, may be shown: they take rights in the whole cluster. */
export const seesPools = signal(true);

/** Where a reader begins who may not read all namespaces: that of the kubeconfig. */
export const homeNamespace = signal<string | undefined>(undefined);

/** The namespace of the service account that a token is of. */
export function namespaceOfToken(text: string): string | undefined {
  try {
    const payload = (text.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    const { sub } = JSON.parse(atob(payload)) as { readonly sub?: unknown };
    return /^system:serviceaccount:([a-z0-9-]+):/.exec(String(sub))?.[1];
  } catch {
    return undefined;
  }
}

export function signIn(given: string, limitedTo: string): void {
  batch(() => {
    token.value = given === "" ? undefined : given;
    namespace.value = limitedTo === "" ? undefined : limitedTo;
    isSignedOut.value = false;
  });
}

export function signOut(): void {
  batch(() => {
    signIn("", "");
    isSignedOut.value = true;
  });
}
