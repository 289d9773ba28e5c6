/** Work that is done as a whole or not at all. */

/** Says how to take back what was done, or is begun now. `undo` must not mind that there is nothing to take back. */
export type OnFailure = (what: string, undo: () => void) => void;

/** Does the work. When it throws, takes back what it said of, the last first, and throws its error. */
export function allOrNothing<T>(warn: (text: string) => void, work: (onFailure: OnFailure) => T): T {
  const done: { readonly what: string; undo(): void }[] = [];
  try {
    return work((what, undo) => done.push({ what, undo }));
  } catch (error) {
    for (const { what, undo } of done.reverse()) {
      try {
        undo();
      } catch (cause) {
        warn(`could not take back "${what}": ${cause}`);
      }
    }
    throw error;
  }
}
