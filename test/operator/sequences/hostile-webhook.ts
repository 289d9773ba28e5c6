/** A mutating webhook of somebody else that is in the operator's way. It concerns the operator's requests only. */

import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { type InstalledOperator, NAMESPACE, OPERATOR_USER } from "../support/installed-operator.ts";

/** What it does: refuses every request, changes objects, or does not answer. */
export const MANNERS = ["refuses", "changes", "hangs"] as const;
export type Manner = (typeof MANNERS)[number];

const NAME = "hostile";
/** A request of this name asks whether the API server calls the webhook. */
const PROBE = "hostile-probe";

type Harness = Pick<InstalledOperator, "controlPlane" | "admin">;

interface Scope {
  /** Which requests of the operator, in CEL; all that its rules match by default. */
  readonly concerns?: string;
  readonly timeoutSeconds?: number;
}

interface Review {
  readonly request: {
    readonly uid: string;
    readonly name?: string;
    readonly operation: string;
    readonly kind: { readonly kind: string };
  };
}

const CHANGES: Readonly<Record<string, readonly object[]>> = {
  ConfigMap: [{ op: "add", path: "/data/HOSTILE", value: "yes" }],
  DaemonSet: [{ op: "replace", path: "/spec/template/spec/containers/0/image", value: "hostile" }],
  Deployment: [{ op: "add", path: "/spec/template/spec/nodeSelector", value: { hostile: "yes" } }],
  Service: [{ op: "add", path: "/spec/selector/hostile", value: "yes" }],
  ClusterRole: [{ op: "replace", path: "/rules", value: [] }],
};

export class HostileWebhook implements AsyncDisposable {
  readonly #harness: Harness;
  readonly #server: Server;
  #probes = 0;

  private constructor(harness: Harness, server: Server) {
    this.#harness = harness;
    this.#server = server;
  }

  /** Resolves when the API server calls it. */
  static async install(
    harness: Harness,
    manner: Manner,
    { concerns = "true", timeoutSeconds = 1 }: Scope = {},
  ): Promise<HostileWebhook> {
    const pair = await harness.controlPlane.authority.issue({
      commonName: NAME,
      addresses: ["127.0.0.1"],
      usage: ["server"],
    });
    const server = createServer(pair);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const webhook = new HostileWebhook(harness, server);
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("error", () => {});
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const review = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Review;
        const isProbe = review.request.name === PROBE;
        if (isProbe) webhook.#probes++;
        else if (manner === "hangs") return;
        const response_ = isProbe ? { uid: review.request.uid, allowed: true } : answer(review, manner);
        const body = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: response_ };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      });
    });
    const configurations: Resource = RESOURCES.mutatingWebhookConfigurations;
    await harness.admin.create(configurations, {
      metadata: { name: NAME },
      webhooks: [
        {
          name: "hostile.example.com",
          clientConfig: {
            url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
            caBundle: btoa(harness.controlPlane.authority.certificate),
          },
          rules: [
            { apiGroups: [""], apiVersions: ["*"], resources: ["configmaps", "services"], operations: ["*"] },
            { apiGroups: ["apps"], apiVersions: ["*"], resources: ["daemonsets", "deployments"], operations: ["*"] },
            {
              apiGroups: ["rbac.authorization.k8s.io"],
              apiVersions: ["*"],
              resources: ["clusterroles"],
              operations: ["*"],
            },
          ],
          matchConditions: [
            {
              name: "concerns-the-operator",
              expression: `(request.userInfo.username == '${OPERATOR_USER}' && ${concerns}) || request.name == '${PROBE}'`,
            },
          ],
          failurePolicy: "Fail",
          sideEffects: "None",
          timeoutSeconds,
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    await eventually("the hostile webhook is called", () => webhook.#isCalled());
    return webhook;
  }

  /** Resolves when the API server does not call it any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    const remove = () => this.#harness.admin.delete(RESOURCES.mutatingWebhookConfigurations, { name: NAME });
    await eventually("the hostile webhook is deleted", () => remove().then(() => true));
    await eventually("the hostile webhook is not called", async () => !(await this.#isCalled()));
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #isCalled(): Promise<boolean> {
    const before = this.#probes;
    const probe = { metadata: { name: PROBE, namespace: NAMESPACE } };
    await this.#harness.admin.create(RESOURCES.configMaps, probe, { dryRun: true });
    return this.#probes > before;
  }
}

function answer({ request }: Review, manner: Manner): object {
  const { uid, kind, operation } = request;
  if (manner === "refuses") return { uid, allowed: false, status: { message: "the house rules forbid it" } };
  const patch = operation === "DELETE" ? undefined : CHANGES[kind.kind];
  if (patch === undefined) return { uid, allowed: true };
  return { uid, allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(patch)) };
}
