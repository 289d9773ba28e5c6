/**
 * The fence round the operator's rights where no package brings it: a bundle of Operator Lifecycle Manager takes no admission
 * policies. It keeps the operator's mistakes in. Who has the operator's token could lift it first, which the fence of the
 * other packages does not allow.
 */

import { OPERATOR_NAME } from "../../api/names.ts";
import { operatorFence as fence } from "../manifests/operator-fence.ts";
import type { Component } from "./component.ts";

export const OPERATOR_FENCE = `${OPERATOR_NAME}-rights`;

export const operatorFence: Component = {
  name: "operatorFence",
  standing: true,
  render: () => fence({ name: OPERATOR_FENCE, labels: {} }),
};
