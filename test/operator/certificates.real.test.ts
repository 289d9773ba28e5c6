import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LINUX_BRIDGE_CERT_MANAGER, LINUX_BRIDGE_WEBHOOK } from "../../src/api/names.ts";
import { INJECT_RESOURCES_PATH } from "../../src/api/webhook-paths.ts";
import { isSignedBy, parseBundle } from "../../src/certs/certificate.ts";
import { decode, readKeyPair } from "../../src/certs/secret-data.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { silentLog } from "../../src/kube/log.ts";
import { appliedKind } from "../../src/operator/apply/applied-kinds.ts";
import { decodeInventory, encodeInventory, entryFor, keyOf, refOf } from "../../src/operator/apply/inventory.ts";
import { INVENTORY_CONFIG_MAP } from "../../src/operator/config/records.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { denyingPolicy } from "../../src/operator/manifests/admission-policy.ts";
import { identityObjects } from "../../src/operator/manifests/rbac.ts";
import { service } from "../../src/operator/manifests/webhook-service.ts";
import { Operator } from "../../src/operator/operator.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { createAny } from "../support/create-any.ts";
import { freePort } from "../support/free-port.ts";
import { ProductProcess } from "../support/product-process.ts";
import { InstalledOperator, NAMESPACE, OPERATOR_USER, WITHIN } from "./support/installed-operator.ts";

const SERVING = LINUX_BRIDGE_WEBHOOK;
const CA = `${LINUX_BRIDGE_WEBHOOK}-ca`;
const HOOKS = [RESOURCES.mutatingWebhookConfigurations, RESOURCES.validatingWebhookConfigurations] as const;
const METRIC = /^cert_manager_certificate_not_after_seconds\{secret="([^"]+)"\} \d+/gm;
const SHORT = {
  caRotateInterval: "10s",
  caOverlapInterval: "10s",
  certRotateInterval: "10s",
  certOverlapInterval: "10s",
};
const USUAL = {
  caRotateInterval: "48h",
  caOverlapInterval: "24h",
  certRotateInterval: "24h",
  certOverlapInterval: "12h",
};
const HOUR_MS = 3_600_000;
const REVIEW = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "1",
    operation: "CREATE",
    namespace: "default",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    object: { metadata: { name: "a" }, spec: { containers: [] } },
  },
});

/** One story: the tests follow each other on one cluster. */
describe("the certificates that the operator keeps itself", () => {
  let cluster: InstalledOperator;
  let webhook: ProductProcess;
  let httpsPort: number;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.admin.create(RESOURCES.crds, nadCrd as never);
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {} });
    await cluster.rollOutUntilAvailable();
    const kubeconfig = join(cluster.controlPlane.directory, "webhook.kubeconfig");
    const account = `system:serviceaccount:${NAMESPACE}:${LINUX_BRIDGE_WEBHOOK}`;
    await writeFile(kubeconfig, await cluster.controlPlane.userKubeconfig(account, ["system:serviceaccounts"]));
    httpsPort = await freePort();
    const env = { KUBECONFIG: kubeconfig, POD_NAMESPACE: NAMESPACE, HTTPS_PORT: String(httpsPort) };
    webhook = await ProductProcess.start({ product: "linux-bridge-webhook", env });
  });
  afterAll(async () => {
    await webhook?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const secret = (name: string) => cluster.admin.get(RESOURCES.secrets, { name, namespace: NAMESPACE });
  const row = async () =>
    (await cluster.config())?.status?.components?.find(({ name }) => name === "linuxBridge") ?? { phase: "none" };

  /** The caBundle of every webhook. */
  async function bundles(): Promise<string[]> {
    const hooks = await Promise.all(HOOKS.map((kind) => cluster.admin.get(kind, { name: LINUX_BRIDGE_WEBHOOK })));
    return hooks.flatMap(({ webhooks = [] }) => webhooks.map(({ clientConfig }) => decode(clientConfig.caBundle)));
  }

  const stored = async () => ({
    versions: [await secret(CA), await secret(SERVING)].map(({ metadata }) => metadata.resourceVersion),
    bundles: await bundles(),
  });

  const secretsIn = async (registry: Registry): Promise<(string | undefined)[]> =>
    [...(await registry.metrics()).matchAll(METRIC)].map(([, name]) => name);

  /** As an API server calls the webhook that trusts this bundle. */
  function call(ca: string): Promise<string> {
    const servername = `${LINUX_BRIDGE_WEBHOOK}.${NAMESPACE}.svc`;
    const headers = { "content-type": "application/json" };
    const options = { host: "127.0.0.1", port: httpsPort, ca, servername, agent: false, headers, method: "POST" };
    return new Promise((resolve, reject) => {
      const asked = request({ ...options, path: INJECT_RESOURCES_PATH }, async (answer) =>
        resolve((await answer.toArray()).join("")),
      );
      asked.once("error", reject).end(REVIEW);
    });
  }

  it("are there when linuxBridge is Available, and both configurations have the authority", async () => {
    const certificate = readKeyPair(await secret(SERVING))?.certificate;
    const found = await bundles();
    expect(found).toHaveLength(2);
    for (const text of found) {
      expect(parseBundle(text).map((ca) => certificate !== undefined && isSignedBy(certificate, ca))).toEqual([true]);
    }
    expect(await secretsIn(cluster.metrics)).toEqual([CA, SERVING]);
  });

  it("let an API server call the webhook, whose own account may write none of them", async () => {
    const [ca = ""] = await bundles();
    await expect.poll(() => call(ca).catch(String), WITHIN).toContain('"allowed":true');
    const account = `system:serviceaccount:${NAMESPACE}:${LINUX_BRIDGE_WEBHOOK}`;
    for (const what of [`secrets/${CA}`, `secrets/${SERVING}`, `mutatingwebhookconfigurations/${SERVING}`]) {
      const { stdout } = await cluster.kubectl(["auth", "can-i", "patch", what, "-n", NAMESPACE, `--as=${account}`]);
      expect([what, stdout.trim()]).toEqual([what, "no"]);
    }
  });

  it("rotate as a changed configuration says, and no call fails", async () => {
    await cluster.applyConfig({ linuxBridge: {}, selfSignConfiguration: SHORT });
    const authorities = new Set<string>();
    const servings = new Set<string | undefined>();
    const answers = new Set<string>();
    await cluster.until(async () => {
      for (const text of await bundles()) {
        const [newest] = parseBundle(text);
        if (newest !== undefined) authorities.add(newest.fingerprint);
        answers.add(await call(text).catch(String));
      }
      servings.add(readKeyPair(await secret(SERVING))?.certificate.fingerprint);
      return authorities.size > 1 && servings.size > 2;
    });
    expect([...answers]).toEqual([expect.stringContaining('"allowed":true')]);
    await cluster.applyConfig({ linuxBridge: {}, selfSignConfiguration: USUAL });
    const inUse = async () => [
      readKeyPair(await secret(SERVING))?.certificate,
      ...(await bundles()).flatMap((text) => parseBundle(text)),
    ];
    const isForLong = (notAfterMs = 0) => notAfterMs > Date.now() + HOUR_MS;
    await cluster.until(async () => (await inUse()).every((certificate) => isForLong(certificate?.notAfterMs)));
  });

  it("are no other replica's matter until that leads, and then go on as they are", async () => {
    await cluster.rollOutUntilAvailable();
    const registry = new Registry();
    const options = { client: cluster.client, settings: DEFAULT_SETTINGS, log: silentLog };
    const other = new Operator({ ...options, identity: "operator-2", metrics: registry });
    const stop = new AbortController();
    const running = other.run(stop.signal);
    await expect.poll(() => other.hasSynced, WITHIN).toBe(true);
    expect(await secretsIn(registry)).toEqual([]);
    const before = await stored();
    await cluster.stop();
    expect(await secretsIn(cluster.metrics)).toEqual([]);
    await expect.poll(() => secretsIn(registry), WITHIN).toEqual([CA, SERVING]);
    expect(await stored()).toEqual(before);
    stop.abort();
    await running;
  });

  it("are taken over from the Deployment that had them, which goes with its rights", async () => {
    const before = await stored();
    const former = formerObjects();
    for (const object of former) await createAny(cluster.admin, object);
    const ref = { name: INVENTORY_CONFIG_MAP, namespace: NAMESPACE };
    const inventory = new Map(decodeInventory((await cluster.admin.get(RESOURCES.configMaps, ref)).data?.objects));
    for (const object of former) inventory.set(keyOf(object), entryFor(object, "linuxBridge"));
    const body = { data: { objects: encodeInventory(inventory) } };
    await cluster.admin.patch(RESOURCES.configMaps, ref, { type: "merge", body });
    cluster.start();
    for (const object of former) await cluster.until(async () => !(await cluster.exists(object)));
    await expect.poll(() => secretsIn(cluster.metrics), WITHIN).toEqual([CA, SERVING]);
    expect(await stored()).toEqual(before);
    expect(cluster.warnings.filter((line) => line.includes("stays"))).toEqual([]);
  });

  it("are called missing in the status while their writes are refused, with the reason", async () => {
    const policy = denyingPolicy({
      name: "nobody-writes",
      labels: {},
      matches: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["UPDATE"] }],
      conditions: [{ name: "operator", expression: `request.userInfo.username == '${OPERATOR_USER}'` }],
      validations: [{ expression: "false", message: "not today" }],
    });
    for (const object of policy) await createAny(cluster.admin, object);
    const target = { name: SERVING, namespace: NAMESPACE };
    const touch = { type: "merge" as const, body: { metadata: { annotations: { touched: "yes" } } } };
    const refusal = () => cluster.client.patch(RESOURCES.secrets, target, touch).then(() => "none", String);
    await expect.poll(refusal, WITHIN).toContain("not today");
    const emptied = { type: "merge" as const, body: { data: { "tls.crt": "", "tls.key": "" } } };
    await cluster.admin.patch(RESOURCES.secrets, target, emptied);
    await expect.poll(row, WITHIN).toMatchObject({
      phase: "Progressing",
      message: expect.stringMatching(/^the certificates of linux-bridge-webhook are not in place: .*not today/),
    });
    for (const object of policy) await cluster.admin.delete(appliedKind(object).resource, refOf(object));
    await expect.poll(row, WITHIN).toMatchObject({ phase: "Available" });
    expect(readKeyPair(await secret(SERVING))).toBeDefined();
  });

  it("go with linuxBridge, and nobody makes them anew", async () => {
    await cluster.applyConfig({ kubeMacPool: {} });
    await cluster.rollOutUntilAvailable();
    for (const name of [CA, SERVING]) {
      await cluster.until(async () => !(await cluster.isThere(RESOURCES.secrets, { name, namespace: NAMESPACE })));
    }
    for (const kind of HOOKS) expect(await cluster.isThere(kind, { name: LINUX_BRIDGE_WEBHOOK })).toBe(false);
    expect(await secretsIn(cluster.metrics)).toEqual([]);
  });
});

/** What an earlier build applied beside the webhook. */
function formerObjects(): KubeObject[] {
  const name = LINUX_BRIDGE_CERT_MANAGER;
  const labels = { name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "manager", image: "example.com/old" }] } };
  const metadata = { name, namespace: NAMESPACE };
  return [
    ...identityObjects({
      serviceAccount: name,
      namespace: NAMESPACE,
      cluster: { role: name, binding: name, rules: [] },
      namespaced: [],
    }),
    service({
      name: `${name}-metrics`,
      namespace: NAMESPACE,
      labels,
      selector: labels,
      ports: [{ name: "a", port: 1, targetPort: 1 }],
    }),
    { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { selector: { matchLabels: labels }, template } },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { ...metadata, name: `${name}-allow-ingress-to-metrics-endpoint` },
      spec: { podSelector: { matchLabels: labels } },
    },
  ] as KubeObject[];
}
