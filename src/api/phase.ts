/** Of VMIs whose guest, and of pods whose containers, do not run yet. */
const STARTING: ReadonlySet<string | undefined> = new Set(["Pending", "Scheduling", "Scheduled", "WaitingForSync"]);
const FINISHED: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed"]);

/** `phase`: of the status of a VMI or a pod. */
export function isStartingPhase(phase: string | undefined): boolean {
  return STARTING.has(phase);
}

/** It has run, and never runs again. */
export function isFinishedPhase(phase: string | undefined): boolean {
  return FINISHED.has(phase);
}
