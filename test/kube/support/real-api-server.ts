import { KubeClient } from "../../../src/kube/client/client.ts";
import { defineResource, type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import type { ControlPlaneAccess } from "../../cluster/control-plane/access.ts";
import { eventually } from "../../support/eventually.ts";

/** A client with an administrator's rights. */
export async function adminClient(controlPlane: ControlPlaneAccess): Promise<KubeClient> {
  return new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig), userAgent: "test" });
}

export interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number; readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
}

/** A kind of our own that is not there until `installWidgets`. */
export const WIDGETS = defineResource<Widget>("test.example.com/v1", "Widget", "widgets", true);

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export async function installWidgets(client: KubeClient): Promise<void> {
  await client.create(RESOURCES.crds, {
    metadata: { name: "widgets.test.example.com" },
    spec: {
      group: "test.example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: ANYTHING },
          subresources: { status: {} },
        },
      ],
    },
  });
  await eventually("widgets are served", async () => (await client.raw("GET", WIDGETS_PATH)).status === 200);
}

export async function removeWidgets(client: KubeClient): Promise<void> {
  await client.delete(RESOURCES.crds, { name: "widgets.test.example.com" });
  await eventually("widgets are gone", async () => (await client.raw("GET", WIDGETS_PATH)).status === 404, {
    limitMs: 30_000,
  });
}

const WIDGETS_PATH = "/apis/test.example.com/v1/widgets";
