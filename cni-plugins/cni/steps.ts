/** Work that is done as a whole or not at all: ordered steps, each with its undo. */

export interface Step<S> {
  readonly name: string;
  apply(state: S): void;
  /** Takes back whatever `apply` did, also when it failed half way. Must not mind that there is nothing to take back. */
  undo?(state: S): void;
}

/** Applies the steps in order. When one throws, undoes it and those before it in reverse order and throws its error. */
export function applySteps<S>(
  steps: readonly Step<S>[],
  state: S,
  undoFailed: (step: string, error: unknown) => void,
): void {
  const begun: Step<S>[] = [];
  try {
    for (const step of steps) {
      begun.push(step);
      step.apply(state);
    }
  } catch (error) {
    for (const step of begun.reverse()) {
      try {
        step.undo?.(state);
      } catch (cause) {
        undoFailed(step.name, cause);
      }
    }
    throw error;
  }
}
