import type { OwnerKind } from "../../api/mac-claim.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-server.ts";
import type { AdmissionParts, Decision } from "./decision.ts";
import { reviewGuest } from "./guest-review.ts";
import { reviewPod } from "./pod-review.ts";

export type Review = (
  request: AdmissionRequest,
  parts: AdmissionParts,
  signal: AbortSignal,
) => Decision | Promise<Decision>;

export const REVIEWS: Readonly<Record<OwnerKind, Review>> = {
  Pod: reviewPod,
  VirtualMachine: (request, parts, signal) => reviewGuest("VirtualMachine", request, parts, signal),
  VirtualMachineInstance: (request, parts, signal) => reviewGuest("VirtualMachineInstance", request, parts, signal),
};
