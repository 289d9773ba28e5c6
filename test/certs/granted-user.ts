import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { Rule } from "../support/rights.ts";

/** Rights of a process on a real API server, as a test gives them to a user of the process's name. */

const KEEP = ["get", "list", "watch", "patch"];

/** What keeping certificates takes inside the namespace: these Secrets by name, without create. Immutable ones are deleted. */
export const secretRules = (...names: readonly string[]): Rule[] => [
  { apiGroups: [""], resources: ["secrets"], resourceNames: names, verbs: [...KEEP, "delete"] },
];

/** What it takes in the whole cluster: the webhook configuration by name. */
export const hookRules = (name: string): Rule[] => [
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations"],
    resourceNames: [name],
    verbs: KEEP,
  },
];

/** A Secret for a certificate as the operator makes it: empty. */
export async function createTlsSecret(admin: KubeClient, namespace: string, name: string): Promise<void> {
  await admin.create(RESOURCES.secrets, {
    metadata: { namespace, name },
    type: "kubernetes.io/tls",
    data: { "tls.crt": "", "tls.key": "" },
  });
}
