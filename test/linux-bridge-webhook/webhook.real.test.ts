import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  DEFAULT_NAMESPACE,
  LINUX_BRIDGE_WEBHOOK,
  NAD_NODE_SELECTOR_ANNOTATION,
  NAD_RESOURCE_NAME_ANNOTATION,
} from "../../src/api/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { InjectorHarness } from "./injector-harness.ts";

const BR1 = "bridge.network.kubevirt.io/br1";
const OWN = { name: LINUX_BRIDGE_WEBHOOK };
const WITHIN = { timeout: 20_000, interval: 50 };

/** One story: the tests follow each other. */
describe("the resource injector behind a real API server", () => {
  let harness: InjectorHarness;

  beforeAll(async () => {
    harness = await InjectorHarness.start();
    await harness.registerWebhook();
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  it("requests the NAD's resource for each attachment, also right after the NAD was made", async () => {
    await harness.createNad("br1", { [NAD_RESOURCE_NAME_ANNOTATION]: BR1, [NAD_NODE_SELECTOR_ANNOTATION]: "rack=a" });
    const pod = await harness.createPod("br1, default/br1@eth7");
    expect(pod.spec?.containers[0]?.resources).toEqual({ requests: { [BR1]: "2" }, limits: { [BR1]: "2" } });
    expect(pod.spec?.nodeSelector).toEqual({ rack: "a" });
  });

  it("denies a pod whose NAD is missing, with a sentence that names it", async () => {
    await expect(harness.createPod("absent")).rejects.toThrow("NetworkAttachmentDefinition default/absent");
  });

  it("may not write its webhook configuration or any Secret, nor read another one", async () => {
    const kubeconfig = `${harness.controlPlane.directory}/injector.kubeconfig`;
    await using own = new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
    const label = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
    const secret = { name: LINUX_BRIDGE_WEBHOOK, namespace: DEFAULT_NAMESPACE };
    const attempts = [
      own.patch(RESOURCES.mutatingWebhookConfigurations, OWN, label),
      own.get(RESOURCES.mutatingWebhookConfigurations, OWN),
      own.patch(RESOURCES.secrets, secret, label),
      own.get(RESOURCES.secrets, { ...secret, name: `${LINUX_BRIDGE_WEBHOOK}-ca` }),
      own.list(RESOURCES.secrets, { namespace: DEFAULT_NAMESPACE }),
    ];
    const answers = await Promise.allSettled(attempts);
    expect(answers.map((answer) => answer.status === "rejected" && answer.reason.status)).toEqual(
      attempts.map(() => 403),
    );
  });

  it("says which pods went without an injection, where it can't tell and the failurePolicy is Ignore", async () => {
    await harness.unregisterWebhook();
    await harness.registerWebhook({ failurePolicy: "Ignore" });
    const { metadata: _, ...binding } = await harness.admin.get(RESOURCES.clusterRoleBindings, OWN);
    await harness.admin.delete(RESOURCES.clusterRoleBindings, OWN);
    await vi.waitFor(async () => {
      const pod = await harness.createPod("absent");
      expect(pod.spec?.containers[0]?.resources).toEqual({});
      expect(await harness.metrics()).toMatch(/linux_bridge_webhook_pods_total\{decision="failed"\} [1-9]/);
    }, WITHIN);
    const line = harness.process.log.split("\n").find((text) => text.includes("may be on a node without its networks"));
    expect(line).toContain('"pod":"default/web-*"');
    await harness.admin.create(RESOURCES.clusterRoleBindings, { ...binding, metadata: OWN });
    await harness.unregisterWebhook();
    await harness.registerWebhook();
  });

  it("admits pods as they are where the cluster has no NetworkAttachmentDefinitions", async () => {
    await harness.admin.delete(RESOURCES.crds, { name: nadCrd.metadata.name });
    const pod = await vi.waitFor(() => harness.createPod("absent"), WITHIN);
    expect(pod.spec?.containers[0]?.resources).toEqual({});
  });

  it("ends in order when it is told to", async () => {
    expect(await harness.process.stop()).toBe(0);
  });
});
