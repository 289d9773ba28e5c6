/** How the kinds that are not always there are watched. Pure. */

import type { ReflectorRules } from "../../kube/informer/reflector-rules.ts";
import type { AppliedKind } from "../apply/applied-kinds.ts";

/** A kind that is not served is asked for ever less often. The end of that is a change of its definition. */
const MAX_ABSENT_RETRY_MS = 30_000;
/** The same for a kind that is applied as soon as it is served, and whose definition is not watched. */
const MAX_OPTIONAL_RETRY_MS = 5_000;
/** An open watch outlives the right to it and the server behind it. Only the next one is refused. */
const EXTERNAL_WATCH_SECONDS = { min: 15, max: 20 };

export function watchRules({ mayBeAbsent, optional, external }: AppliedKind): Partial<ReflectorRules> {
  return {
    ...(mayBeAbsent && { maxAbsentRetryMs: optional ? MAX_OPTIONAL_RETRY_MS : MAX_ABSENT_RETRY_MS }),
    ...(external && { watchTimeoutSeconds: EXTERNAL_WATCH_SECONDS }),
  };
}
