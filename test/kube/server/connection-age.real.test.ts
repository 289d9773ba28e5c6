import { afterAll, beforeAll, expect, it } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import { admissionHandler } from "../../../src/kube/server/admission-server.ts";
import { RouteServer } from "../../../src/kube/server/route-server.ts";
import type { ControlPlaneAccess } from "../../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";
import { createAny } from "../../support/create-any.ts";
import { eventually } from "../../support/eventually.ts";

const HOST = "127.0.0.1";
const IN_FLIGHT = 8;
const CONNECTIONS = 10 * IN_FLIGHT;
const CONFIGURATION = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "reviews.example.com" },
};

let controlPlane: ControlPlaneAccess;
let client: KubeClient;
let webhooks: RouteServer;
let reviews = 0;
let connections = 0;

beforeAll(async () => {
  controlPlane = await borrowControlPlane();
  client = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
  const certificate = await controlPlane.authority.issue({
    commonName: "reviews",
    addresses: [HOST],
    usage: ["server"],
  });
  const tls = { current: () => certificate, onChange: () => () => {} };
  webhooks = new RouteServer({ port: 0, host: HOST, tls, maxConnectionAgeMs: 50 });
  webhooks.post(
    "/review",
    admissionHandler(() => {
      reviews += 1;
      return { allowed: true };
    }),
  );
  webhooks.server.on("secureConnection", () => {
    connections += 1;
  });
  const port = await webhooks.listen();
  const webhook = {
    ...{ name: "reviews.example.com", failurePolicy: "Fail", sideEffects: "None", admissionReviewVersions: ["v1"] },
    clientConfig: { url: `https://${HOST}:${port}/review`, caBundle: btoa(controlPlane.authority.certificate) },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }],
  };
  await createAny(client, { ...CONFIGURATION, webhooks: [webhook] });
  await eventually("the API server asks", async () => {
    await create("probe-");
    return reviews > 0;
  });
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await controlPlane?.[Symbol.asyncDispose]();
  await webhooks?.[Symbol.asyncDispose]();
});

const create = (generateName: string) =>
  client.create(RESOURCES.configMaps, { metadata: { generateName, namespace: "default" } }, { dryRun: true });

it("loses no review of an API server under load when connections end at their age", async ({ signal }) => {
  const load = async (): Promise<void> => {
    while (connections < CONNECTIONS && !signal.aborted) await create("load-");
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, load));
  expect(reviews).toBeGreaterThan(CONNECTIONS);
});
