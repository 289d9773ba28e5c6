import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../../src/api/kinds.ts";
import {
  NAD_NODE_SELECTOR_ANNOTATION,
  NAD_RESOURCE_NAME_ANNOTATION,
  NETWORKS_ANNOTATION,
} from "../../src/api/names.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { createTlsSecret, grantInCluster, grantInNamespace, hookRules, secretRules } from "../certs/granted-user.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { client as admin, controlPlane } from "../support/api-server-bed.ts";
import { freePort } from "../support/free-port.ts";
import { ProductProcess } from "../support/product-process.ts";

const BR1 = "bridge.network.kubevirt.io/br1";
const WITHIN = { timeout: 20_000, interval: 50 };
const NAMESPACE = "addons";
const USER = "injector";
const HOOK = "linux-bridge-webhook";
/** The name under which the API server reaches the process here, where there are no Services. */
const SERVICE = "localhost";

describe("the resource injector behind a real API server", () => {
  let injector: ProductProcess;
  let count = 0;

  beforeAll(async () => {
    await admin.create(RESOURCES.namespaces, { metadata: { name: NAMESPACE } });
    await admin.create(RESOURCES.crds, nadCrd as never);
    await admin.create(RESOURCES.serviceAccounts, { metadata: { namespace: "default", name: "default" } });
    await grant();
    for (const name of [HOOK, `${HOOK}-ca`]) await createTlsSecret(admin, NAMESPACE, name);
    const port = await freePort();
    await createHook(port);
    const kubeconfig = join(controlPlane.directory, "injector.kubeconfig");
    await writeFile(kubeconfig, await controlPlane.userKubeconfig(USER));
    injector = await ProductProcess.start({
      product: "linux-bridge-webhook",
      env: {
        KUBECONFIG: kubeconfig,
        POD_NAME: "linux-bridge-webhook-1",
        POD_NAMESPACE: NAMESPACE,
        SERVICE_NAME: SERVICE,
        HTTPS_PORT: String(port),
      },
    });
    await vi.waitFor(async () => {
      await createNad(`probe-${count++}`, {});
      const pod = await createPod(`probe-${count - 1}`);
      expect(pod.metadata.name).toBeDefined();
      expect(injector.log).toContain("wrote the caBundle");
    }, WITHIN);
  });
  afterAll(async () => {
    await injector?.[Symbol.asyncDispose]();
  });

  async function grant(): Promise<void> {
    const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
    await grantInNamespace(admin, NAMESPACE, USER, [
      ...secretRules(HOOK, `${HOOK}-ca`),
      { ...leases, resourceNames: [HOOK], verbs: ["get", "create", "update"] },
    ]);
    const networks = { apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"] };
    await grantInCluster(admin, USER, [...hookRules(HOOK), { ...networks, verbs: ["get", "list", "watch"] }]);
  }

  /** failurePolicy Fail, so that a webhook that is not called is seen. */
  async function createHook(port: number): Promise<void> {
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }];
    await admin.create(RESOURCES.mutatingWebhookConfigurations, {
      metadata: { name: HOOK },
      webhooks: [
        {
          name: "inject-resources.linux-bridge.network.kubevirt.io",
          clientConfig: { url: `https://${SERVICE}:${port}/inject-resources` },
          rules,
          failurePolicy: "Fail",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          timeoutSeconds: 5,
        },
      ],
    });
  }

  async function createNad(name: string, annotations: Record<string, string>): Promise<void> {
    await admin.create(NETWORK_ATTACHMENT_DEFINITIONS, {
      metadata: { namespace: "default", name, annotations },
      spec: { config: "{}" },
    });
  }

  function createPod(networks: string): Promise<Pod> {
    return admin.create(RESOURCES.pods, {
      metadata: { namespace: "default", generateName: "web-", annotations: { [NETWORKS_ANNOTATION]: networks } },
      spec: { containers: [{ name: "compute", image: "example.com/guest" }] },
    });
  }

  it("requests the NAD's resource for each attachment, also right after the NAD was made", async () => {
    await createNad("br1", { [NAD_RESOURCE_NAME_ANNOTATION]: BR1, [NAD_NODE_SELECTOR_ANNOTATION]: "rack=a" });
    const pod = await createPod("br1, default/br1@eth7");
    expect(pod.spec?.containers[0]?.resources).toEqual({ requests: { [BR1]: "2" }, limits: { [BR1]: "2" } });
    expect(pod.spec?.nodeSelector).toEqual({ rack: "a" });
  });

  it("denies a pod whose NAD is missing, with a sentence that names it", async () => {
    const refusal = await createPod("absent").then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refusal).toBeInstanceOf(ApiError);
    expect((refusal as ApiError).message).toContain("NetworkAttachmentDefinition default/absent");
  });

  it("admits pods as they are where the cluster has no NetworkAttachmentDefinitions", async () => {
    await admin.delete(RESOURCES.crds, { name: nadCrd.metadata.name });
    const pod = await vi.waitFor(() => createPod("absent"), WITHIN);
    expect(pod.spec?.containers[0]?.resources).toEqual({});
  });

  it("holds its certificates through its own leader election, and gives the lease back when it stops", async () => {
    const lease = await admin.get(RESOURCES.leases, { namespace: NAMESPACE, name: HOOK });
    expect(lease.spec?.holderIdentity).toBe("linux-bridge-webhook-1");
    expect(await injector.stop()).toBe(0);
    const after = await admin.get(RESOURCES.leases, { namespace: NAMESPACE, name: HOOK });
    expect(after.spec?.holderIdentity ?? "").toBe("");
  });
});
