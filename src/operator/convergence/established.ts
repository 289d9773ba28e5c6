import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";

/** Whether the API server serves the kind. Pure. */
export function isEstablished(definition: CustomResourceDefinition | undefined): boolean {
  const conditions = definition?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}
