/**
 * The admission guard of the operator's rights where no package brings it: a bundle of Operator Lifecycle Manager takes no admission
 * policies. It keeps the operator's mistakes in. Who has the operator's token could lift it first, which the guard of the
 * other packages does not allow.
 */

import { OPERATOR_NAME } from "../../api/names.ts";
import { operatorAdmissionGuard as guard } from "../manifests/operator-admission-guard.ts";
import type { Component } from "./component.ts";

const OPERATOR_ADMISSION_GUARD = `${OPERATOR_NAME}-rights`;

export const operatorAdmissionGuard: Component = {
  name: "operatorFence",
  standing: true,
  render: () => guard({ name: OPERATOR_ADMISSION_GUARD, labels: {} }),
};
