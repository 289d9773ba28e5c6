import type { OwnerKind } from "../../api/mac-claim.ts";
import type { AdmissionRequest } from "../../kube/server/admission-server.ts";
import { refusalOfObject } from "../claims/name-lengths.ts";
import { type AdmissionParts, type Decision, denied, objectOfRequest } from "./decision.ts";
import { reviewGuest } from "./guest-review.ts";
import { reviewPod } from "./pod-review.ts";

export type Review = (
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
) => Decision | Promise<Decision>;

export const REVIEWS: Readonly<Record<OwnerKind, Review>> = {
  Pod: named("Pod", reviewPod),
  VirtualMachine: named("VirtualMachine", (...asked) => reviewGuest("VirtualMachine", ...asked)),
  VirtualMachineInstance: named("VirtualMachineInstance", (...asked) =>
    reviewGuest("VirtualMachineInstance", ...asked),
  ),
};

/** The review of objects whose names are as long as names may be; others are refused. */
function named(kind: OwnerKind, review: Review): Review {
  return (request, parts, signal) => {
    const refusal = refusalOfObject(objectOfRequest(kind, request));
    return refusal === undefined ? review(request, parts, signal) : denied(refusal);
  };
}
