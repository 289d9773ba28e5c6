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
