import { ApiError } from "../../../src/kube/client/api-error.ts";

/** What the API server said to a load. */
export class Outcomes {
  /** Creations, changes and deletions that were carried out or refused with a reason; not those that failed. */
  operations = 0;
  allocations = 0;
  denials = 0;
  failedCalls = 0;
  /** Refusals that give no reason: there must be none. */
  readonly unexplained: string[] = [];

  /** A refusal of the pool has a reason; everything else is a call that failed. */
  judge(error: unknown): void {
    const denied = error instanceof ApiError && error.message.includes("denied the request:");
    if (!denied) {
      this.failedCalls++;
      return;
    }
    const text = (error as ApiError).message;
    if (/could not be claimed|Nothing is wrong with the object/.test(text)) this.failedCalls++;
    else {
      this.denials++;
      this.operations++;
    }
    if ((text.split("denied the request:")[1] ?? "").trim().length < 20) this.unexplained.push(text);
  }
}
