/** The two kinds of the Prometheus operator that this product uses, as far as an API server needs them: any content is taken. */

import { PROMETHEUS_RULES, SERVICE_MONITORS } from "../../../src/api/kinds.ts";
import { definitionOfAnything } from "./definition-of-anything.ts";

export const PROMETHEUS_OPERATOR_CRDS = [SERVICE_MONITORS, PROMETHEUS_RULES].map((kind) => definitionOfAnything(kind));
