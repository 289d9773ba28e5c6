import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { CertManager } from "../../src/certs/cert-manager.ts";
import { parseBundle } from "../../src/certs/certificate.ts";
import { decode } from "../../src/certs/secret-data.ts";
import { SecretTlsSource } from "../../src/certs/tls-source.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { silentLog } from "../../src/kube/log.ts";
import { HttpServer } from "../../src/kube/server/http-server.ts";
import { client } from "../support/api-server-harness.ts";
import { createTlsSecret } from "./granted-user.ts";

const NAMESPACE = "default";
const SERVING = "hook";
const CA = "hook-ca";
const SERVER_NAME = `${SERVING}.${NAMESPACE}.svc`;
const SERVING_CERTIFICATES = 4;
const CAS = 3;

describe("certificates that rotate every few seconds", () => {
  let server: HttpServer;
  let port: number;
  const stop = new AbortController();
  let running: Promise<unknown>;

  beforeAll(async () => {
    for (const name of [SERVING, CA]) await createTlsSecret(client, NAMESPACE, name);
    await client.create(RESOURCES.validatingWebhookConfigurations, {
      metadata: { name: SERVING },
      webhooks: [
        {
          name: "hook.example.com",
          clientConfig: { service: { name: SERVING, namespace: NAMESPACE } },
          failurePolicy: "Ignore",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    const metrics = new Registry();
    const tls = new SecretTlsSource({ client, namespace: NAMESPACE, secret: SERVING, log: silentLog, metrics });
    const manager = new CertManager({
      client,
      namespace: NAMESPACE,
      caSecret: CA,
      servingSecret: SERVING,
      serviceName: SERVING,
      webhookConfigurations: [{ kind: "Validating", name: SERVING }],
      intervals: { caRotateMs: 6000, caOverlapMs: 9000, certRotateMs: 2000, certOverlapMs: 9000 },
      log: silentLog,
      metrics,
    });
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls });
    server.app.get("/", (_request, reply) => reply.send());
    port = await server.listen();
    running = Promise.all([tls.run(stop.signal), manager.run(stop.signal)]);
    await vi.waitFor(() => expect(manager.ready && tls.current()).toBeTruthy(), { timeout: 15_000 });
  });
  afterAll(async () => {
    stop.abort();
    await running;
    await server?.drain(0);
  });

  async function caBundle(): Promise<string> {
    const hook = await client.get(RESOURCES.validatingWebhookConfigurations, { name: SERVING });
    return decode(hook.webhooks?.[0]?.clientConfig.caBundle);
  }

  /** A new connection, verified as the API server verifies it. Resolves with the certificate it was served. */
  function call(ca: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, ca, servername: SERVER_NAME, agent: false, path: "/" };
      const call = request(options, (answer) => {
        const { fingerprint256 } = (answer.socket as TLSSocket).getPeerCertificate();
        answer.resume().once("end", () => resolve(fingerprint256));
      });
      call.once("error", reject).end();
    });
  }

  it("fail no request, old CAs included", async () => {
    const certificates = new Set<string>();
    const authorities = new Set<string>();
    let calls = 0;
    await vi.waitUntil(
      async () => {
        const bundle = await caBundle();
        for (const ca of parseBundle(bundle)) authorities.add(ca.fingerprint);
        certificates.add(await call(bundle));
        calls++;
        return certificates.size >= SERVING_CERTIFICATES && authorities.size >= CAS;
      },
      { timeout: 60_000, interval: 50 },
    );
    console.log(`${calls} calls, ${certificates.size} serving certificates, ${authorities.size} CAs`);
  });
});
