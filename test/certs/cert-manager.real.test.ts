import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CertManager } from "../../src/certs/cert-manager.ts";
import { type Certificate, isSignedBy, parseBundle } from "../../src/certs/certificate.ts";
import type { Intervals } from "../../src/certs/plan.ts";
import { decode, readKeyPair } from "../../src/certs/secret-data.ts";
import type { MutatingWebhookConfiguration, Secret } from "../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { silentLog } from "../../src/kube/log.ts";
import { client as admin, controlPlane } from "../support/api-server-harness.ts";
import { grantRules, user } from "../support/rights.ts";
import { createTlsSecret, hookRules, secretRules } from "./granted-user.ts";

const HOUR_MS = 3_600_000;
const intervals: Intervals = {
  caRotateMs: 48 * HOUR_MS,
  caOverlapMs: 24 * HOUR_MS,
  certRotateMs: 24 * HOUR_MS,
  certOverlapMs: 12 * HOUR_MS,
};
const WITHIN = { timeout: 20_000, interval: 20 };
const CA = "hook-ca";
const SERVING = "hook";
const HOOK = "hook";
const USER = "cert-manager";

describe("the certificate manager on a real API server", () => {
  let client: KubeClient;
  let namespace: string;
  let stop: AbortController;
  let running: Promise<void>;
  let manager: CertManager;
  let metrics: Registry;
  let count = 0;

  beforeAll(async () => {
    client = new KubeClient({
      credentials: await credentialsFromKubeconfig(await controlPlane.userKubeconfig(USER)),
    });
    await grantRules(admin, user(USER), hookRules(HOOK));
  });
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    namespace = `certs-${count++}`;
    await admin.create(RESOURCES.namespaces, { metadata: { name: namespace } });
    // Exactly what the process has in production: its two Secrets and its configuration, by name, without create.
    await grantRules(admin, user(USER), secretRules(CA, SERVING), { namespace });
    for (const name of [CA, SERVING]) await createTlsSecret(admin, namespace, name);
    await createHook();
    start(intervals);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await admin.delete(RESOURCES.mutatingWebhookConfigurations, { name: HOOK });
  });

  function start(using: Intervals): void {
    stop = new AbortController();
    metrics = new Registry();
    manager = newManager(using, metrics);
    running = manager.run(stop.signal);
  }

  const newManager = (using: Intervals, registry: Registry = new Registry()): CertManager =>
    new CertManager({
      client,
      namespace,
      caSecret: CA,
      servingSecret: SERVING,
      serviceName: SERVING,
      webhookConfigurations: [{ kind: "Mutating", name: HOOK }],
      intervals: using,
      log: silentLog,
      metrics: registry,
    });

  async function createHook(): Promise<void> {
    const webhook = (name: string) => ({
      name,
      clientConfig: { service: { name: SERVING, namespace, path: "/" } },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }],
      failurePolicy: "Ignore",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    });
    await admin.create(RESOURCES.mutatingWebhookConfigurations, {
      metadata: { name: HOOK },
      webhooks: [webhook("a.example.com"), webhook("b.example.com")],
    });
  }

  const secret = (name: string): Promise<Secret> => admin.get(RESOURCES.secrets, { namespace, name });
  const hook = (): Promise<MutatingWebhookConfiguration> =>
    admin.get(RESOURCES.mutatingWebhookConfigurations, { name: HOOK });

  async function bundles(): Promise<Certificate[][]> {
    return ((await hook()).webhooks ?? []).map(({ clientConfig }) => parseBundle(decode(clientConfig.caBundle)));
  }

  /** The serving certificate, once every webhook's caBundle verifies it. */
  function trusted(): Promise<Certificate> {
    return vi.waitFor(async () => {
      const certificate = readKeyPair(await secret(SERVING))?.certificate;
      if (certificate === undefined) throw new Error("no serving certificate");
      for (const bundle of await bundles()) {
        expect(bundle.some((ca) => isSignedBy(certificate, ca))).toBe(true);
      }
      await vi.waitFor(() => expect(manager.ready).toBe(true), WITHIN);
      return certificate;
    }, WITHIN);
  }

  it.each([CA, SERVING])("has Secret %s made anew where it is immutable and garbled", async (name) => {
    await trusted();
    const before = await secret(name);
    const garbled = { "tls.crt": "Z2FyYmxlZA==", "tls.key": "Z2FyYmxlZA==" };
    const patch = { type: "merge" as const, body: { data: garbled, immutable: true } };
    await admin.patch(RESOURCES.secrets, { namespace, name }, patch);
    await vi.waitFor(async () => {
      const found = await admin.list(RESOURCES.secrets, { namespace });
      expect(found.items.map(({ metadata }) => metadata.name)).not.toContain(name);
    }, WITHIN);
    // As the operator does.
    await createTlsSecret(admin, namespace, name);
    await vi.waitFor(async () => expect(readKeyPair(await secret(name))).toBeDefined(), WITHIN);
    await trusted();
    expect((await secret(name)).metadata.uid).not.toBe(before.metadata.uid);
  });

  it("fills empty Secrets and every caBundle, with rights on exactly these objects", async () => {
    const certificate = await trusted();
    expect(certificate.dnsNames).toContain(`${SERVING}.${namespace}.svc`);
    expect(manager.ready).toBe(true);
  });

  it("tells until when the CA and the serving certificate are valid", async () => {
    const certificate = await trusted();
    const ca = readKeyPair(await secret(CA))?.certificate;
    const lines = (await metrics.metrics()).split("\n").filter((line) => line.includes("not_after_seconds{"));
    expect(lines).toEqual([
      `cert_manager_certificate_not_after_seconds{secret="${CA}"} ${(ca?.notAfterMs ?? 0) / 1000}`,
      `cert_manager_certificate_not_after_seconds{secret="${SERVING}"} ${certificate.notAfterMs / 1000}`,
    ]);
    const all = await metrics.metrics();
    expect(all).toContain('workqueue_adds_total{name="certificates"}');
    expect(all).toContain('informer_objects{resource="secrets"} 2');
  });

  it("fills an emptied caBundle again", async () => {
    await trusted();
    const ops = [{ op: "replace" as const, path: "/webhooks/1/clientConfig/caBundle", value: "" }];
    await admin.patch(RESOURCES.mutatingWebhookConfigurations, { name: HOOK }, { type: "json", ops });
    await vi.waitFor(async () => expect((await bundles()).map(({ length }) => length)).toEqual([1, 1]), WITHIN);
  });

  it("gives a webhook configuration that was made anew its caBundle", async () => {
    await trusted();
    await admin.delete(RESOURCES.mutatingWebhookConfigurations, { name: HOOK });
    await createHook();
    await vi.waitFor(async () => expect((await bundles()).map(({ length }) => length)).toEqual([1, 1]), WITHIN);
  });

  it("makes a new serving certificate when its Secret was deleted and made again, empty", async () => {
    const before = await trusted();
    await admin.delete(RESOURCES.secrets, { namespace, name: SERVING });
    await createTlsSecret(admin, namespace, SERVING);
    const after = await trusted();
    expect(after.fingerprint).not.toBe(before.fingerprint);
  });

  it("makes a new CA when its Secret was deleted, and what the old one signed stays trusted", async () => {
    const before = await trusted();
    await admin.delete(RESOURCES.secrets, { namespace, name: CA });
    await createTlsSecret(admin, namespace, CA);
    await vi.waitFor(async () => expect((await bundles()).map(({ length }) => length)).toEqual([2, 2]), WITHIN);
    expect((await trusted()).fingerprint).toBe(before.fingerprint);
  });

  it("replaces a serving certificate that somebody overwrote", async () => {
    await trusted();
    const body = { data: { "tls.crt": Buffer.from("nonsense").toString("base64") } };
    await admin.patch(RESOURCES.secrets, { namespace, name: SERVING }, { type: "merge", body });
    await vi.waitFor(async () => expect(readKeyPair(await secret(SERVING))).toBeDefined(), WITHIN);
    await trusted();
  });

  it("goes on where another manager stopped, and two at once agree", async () => {
    const before = await trusted();
    const second = newManager(intervals);
    const secondRuns = second.run(stop.signal);
    await vi.waitFor(() => expect(second.ready).toBe(true), WITHIN);
    expect((await trusted()).fingerprint).toBe(before.fingerprint);
    await admin.delete(RESOURCES.secrets, { namespace, name: SERVING });
    await createTlsSecret(admin, namespace, SERVING);
    await trusted();
    const settled = (await secret(SERVING)).metadata.resourceVersion;
    stop.abort();
    await secondRuns;
    expect((await secret(SERVING)).metadata.resourceVersion).toBe(settled);
  });
});
