import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";

const TIMEOUT_MS = 30_000;
const POLL_MS = 50;
/** Where there are several API servers, each takes five seconds on purpose. */
const NUDGE_MS = 8_000;
const NUDGE_ANNOTATION = "networkaddonsoperator.network.kubevirt.io/establish";

/** Whether the API server serves the kind. Pure. */
export function isEstablished(definition: CustomResourceDefinition | undefined): boolean {
  return isTrue(definition, "Established");
}

/**
 * Resolves once the API server serves the kind; `known` is the definition as last seen. Throws after 30 s.
 *
 * An API server that ends between accepting the names and establishing the kind goes on with it only when the definition
 * changes, or minutes later. So it is changed, and changed back.
 */
export async function untilEstablished(
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  name: string,
  known: CustomResourceDefinition | undefined,
  signal: AbortSignal,
): Promise<void> {
  const startMs = clock.monotonicMs();
  let live = known;
  let isNudged = false;
  while (!isEstablished(live)) {
    const waitedMs = clock.monotonicMs() - startMs;
    if (waitedMs > TIMEOUT_MS) throw new Error(`the API server still does not serve it after ${TIMEOUT_MS / 1000} s`);
    if (waitedMs > NUDGE_MS && !isNudged && isTrue(live, "NamesAccepted")) {
      isNudged = true;
      for (const value of ["again", null]) {
        const body = { metadata: { annotations: { [NUDGE_ANNOTATION]: value } } };
        await client.patch(RESOURCES.crds, { name }, { type: "merge", body }, { signal });
      }
    }
    await clock.sleep(POLL_MS, signal);
    live = await client.get(RESOURCES.crds, { name }, { signal });
  }
}

function isTrue(definition: CustomResourceDefinition | undefined, wanted: string): boolean {
  return definition?.status?.conditions?.some(({ type, status }) => type === wanted && status === "True") ?? false;
}
