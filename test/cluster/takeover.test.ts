import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE, IMAGE_NODE, IMAGE_ROOT } from "../../src/api/image.ts";
import { MAC_CLAIMS } from "../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";
import type { KeyPair } from "../../src/certs/certificate.ts";
import { issueCa, issueServing } from "../../src/certs/issuer.ts";
import { encode, keyPairData } from "../../src/certs/secret-data.ts";
import type { Deployment, MutatingWebhookConfiguration } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { formerPool, leave, poolService, RANGE, secret } from "../operator/support/predecessor.ts";
import { eventually } from "../support/eventually.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { CONFIGS } from "./demo/demo-cluster.ts";
import { networkAddonsConfig, virtualMachine } from "./demo/objects.ts";
import { installKubevirt } from "./kubevirt/install.ts";
import { makeRunDirectory } from "./run-directory.ts";
import { Admissions } from "./upgrade/admissions.ts";

const NAMESPACE = DEFAULT_NAMESPACE;
const FORMER_IMAGE = "localhost/former-pool:1";
const MANAGER = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
const CLAIMS: Resource<KubeObject> = MAC_CLAIMS;
const LIMIT = { limitMs: 180_000 };
const DAY_MS = 24 * 3_600_000;

/** Gives each VM the next address of the range, and answers until its Service has forgotten it. */
const FORMER_PROGRAM = `
  let next = 0;
  const answer = (request, response) => {
    if (request.method === "GET") return response.end("ok");
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      const { apiVersion, kind, request: { uid, object } } = JSON.parse(text);
      const [nic] = object.spec.template.spec.domain.devices.interfaces;
      const value = "02:5d:1c:00:" + (++next).toString(16).padStart(4, "0").replace(/(..)(..)/, "$1:$2");
      const path = "/spec/template/spec/domain/devices/interfaces/0/macAddress";
      const ops = nic.macAddress ? [] : [{ op: "add", path, value }];
      const patch = Buffer.from(JSON.stringify(ops)).toString("base64");
      response.setHeader("content-type", "application/json");
      response.setHeader("connection", "close");
      response.end(JSON.stringify({ apiVersion, kind, response: { uid, allowed: true, patchType: "JSONPatch", patch } }));
    });
  };
  require("node:https").createServer({ cert: process.env.CERT, key: process.env.KEY }, answer).listen(8000);
  process.on("SIGTERM", () => setTimeout(process.exit, 3_000));`;

/** A KubeMacPool that only serves: its Deployment, its certificate, its webhooks. */
async function leaveFormerPool(client: KubeClient): Promise<void> {
  const nowMs = Date.now();
  const ca = issueCa({ commonName: "former", nowMs, lifetimeMs: DAY_MS });
  const dnsNames = [
    `kubemacpool-service.${NAMESPACE}.svc`,
    `kubemacpool-service.${NAMESPACE}.svc.cluster.local`,
  ] as const;
  const serving = issueServing({ ca, dnsNames: [...dnsNames], nowMs, lifetimeMs: DAY_MS });
  await leave(client, [
    [RESOURCES.secrets, secret("kubemacpool-service", NAMESPACE, keyPairData(serving))],
    [RESOURCES.secrets, secret("kubemacpool-mutator-ca", NAMESPACE)],
    // With a name for its port: without one, there is an instant in which it has one and its endpoints don't.
    [RESOURCES.services, poolService(NAMESPACE, { name: "https" })],
  ]);
  const [range, manager, webhooks] = formerPool(NAMESPACE);
  if (range === undefined || manager === undefined || webhooks === undefined)
    throw new Error("the pool has three parts");
  await leave(client, [range, [manager[0], serve(manager[1] as Deployment, serving)]]);
  await eventually("the former pool to serve", async () => {
    const { status } = await client.get(RESOURCES.deployments, MANAGER);
    return status?.availableReplicas === 1;
  });
  await leave(client, [[webhooks[0], trusting(webhooks[1] as MutatingWebhookConfiguration, ca)]]);
}

function serve(manager: Deployment, { certificate, keyPem }: KeyPair): KubeObject {
  const container = {
    name: "manager",
    image: FORMER_IMAGE,
    command: [IMAGE_NODE, `${IMAGE_ROOT}/pool.js`],
    env: Object.entries({ CERT: certificate.pem, KEY: keyPem }).map(([name, value]) => ({ name, value })),
    readinessProbe: { httpGet: { path: "/readyz", port: 8000, scheme: "HTTPS" }, periodSeconds: 1 },
  };
  const template = { ...manager.spec?.template, spec: { terminationGracePeriodSeconds: 5, containers: [container] } };
  return { ...manager, spec: { ...manager.spec, template } };
}

function trusting(configuration: MutatingWebhookConfiguration, { certificate }: KeyPair): KubeObject {
  const webhooks = configuration.webhooks?.map((webhook) => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, caBundle: encode(certificate.pem) },
  }));
  return { ...configuration, webhooks };
}

/** One story: the tests follow each other on one cluster, with its own scheduler and controllers. */
describe("a cluster on which a KubeMacPool serves", { timeout: 300_000 }, () => {
  let directory: string;
  let cluster: Cluster;
  let client: KubeClient;
  let kubevirt: AsyncDisposable;
  let admissions: Admissions;

  beforeAll(async () => {
    directory = await makeRunDirectory();
    const tree = join(directory, "former");
    await mkdir(tree);
    await writeFile(join(tree, "pool.js"), FORMER_PROGRAM);
    cluster = await startCluster({ nodes: [{ name: "node-a" }], images: { [FORMER_IMAGE]: tree } });
    client = await cluster.client();
    kubevirt = await installKubevirt(cluster.kubeconfig);
    await client.create(RESOURCES.namespaces, { metadata: { name: NAMESPACE } });
    await leaveFormerPool(client);
    admissions = new Admissions(client, (name) => {
      const machine = virtualMachine(name) as { spec: object };
      return { ...machine, spec: { ...machine.spec, runStrategy: "Halted" } };
    });
    admissions.start();
  }, 300_000);
  afterAll(async () => {
    await admissions?.stop();
    await kubevirt?.[Symbol.asyncDispose]();
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  const images = async (): Promise<(string | undefined)[]> => {
    const { items } = await client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector: "app=kubemacpool" });
    return items.map(({ spec }) => spec?.containers[0]?.image);
  };

  it("gets the operator's own, which replaces the pods one after another", async () => {
    await eventually("addresses from the former pool", () => admissions.macs.length > 3);
    const { code, stderr } = await cluster.kubectl(["apply", "--server-side", "-f", "deploy/release.yaml"]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const config = JSON.stringify(networkAddonsConfig({ kubeMacPool: {} }));
    expect(await cluster.kubectl(["apply", "-f", "-"], { stdin: config })).toMatchObject({ code: 0 });
    await eventually(
      "the pool to be Available with its own pods alone",
      async () => {
        const { status } = await client.get(CONFIGS, { name: "cluster" });
        const isAvailable = status?.conditions?.some(
          ({ type, status: value }) => type === "Available" && value === "True",
        );
        return isAvailable && (await images()).every((image) => image === DEFAULT_IMAGE);
      },
      LIMIT,
    );
    const served = admissions.macs.length;
    await eventually("addresses from the operator's pool", () => admissions.macs.length > served + 3);
  });

  it("refused no VM meanwhile, and gave no address twice", async () => {
    await admissions.stop();
    expect(admissions.failures).toEqual([]);
    expect(new Set(admissions.macs).size).toBe(admissions.macs.length);
    expect(admissions.macs.filter((mac) => !mac.startsWith(RANGE.rangeStart.slice(0, "02:5d:1c".length)))).toEqual([]);
  });

  it("knows every address that the former pool gave", async () => {
    const wanted = new Set(admissions.macs);
    await eventually("a claim for each", async () => {
      const { items } = await client.list(CLAIMS);
      for (const { spec } of items) wanted.delete((spec as { mac: string }).mac);
      return wanted.size === 0;
    });
  });
});
