/** Of a VMI whose guest, or a pod whose containers, do not run yet. */
const STARTING: ReadonlySet<string | undefined> = new Set(["Pending", "Scheduling", "Scheduled", "WaitingForSync"]);

/** `phase`: of the status of a VMI or a pod. */
export function isStartingPhase(phase: string | undefined): boolean {
  return STARTING.has(phase);
}
