import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { KeyPair } from "../../src/certs/certificate.ts";
import { issueCa } from "../../src/certs/issuer.ts";
import { keyPairData } from "../../src/certs/secret-data.ts";
import { SecretTlsSource } from "../../src/certs/tls-source.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type Log, silentLog } from "../../src/kube/log.ts";
import { client } from "../support/api-server-harness.ts";

const REF = { namespace: "default", name: "serving" };
const WITHIN = { timeout: 20_000, interval: 50 };

describe("a listener's certificate from a Secret", () => {
  let source: SecretTlsSource;
  let running: Promise<void>;
  const stop = new AbortController();
  const warnings: unknown[] = [];
  let changes = 0;

  beforeAll(async () => {
    const log: Log = { ...silentLog, warn: (message: unknown) => warnings.push(message) };
    source = new SecretTlsSource({
      client,
      namespace: REF.namespace,
      secret: REF.name,
      log,
      metrics: new Registry(),
    });
    source.onChange(() => changes++);
    running = source.run(stop.signal);
  });
  afterAll(async () => {
    stop.abort();
    await running;
  });

  const pair = (): KeyPair => issueCa({ commonName: "any", nowMs: Date.now(), lifetimeMs: 3_600_000 });

  async function write(data: Readonly<Record<string, string>>): Promise<void> {
    await client.patch(RESOURCES.secrets, REF, { type: "merge", body: { data } });
  }

  it("comes when the Secret is filled, changes with it, and stays when that is emptied or deleted", async () => {
    const empty = { "tls.crt": "", "tls.key": "" };
    await client.create(RESOURCES.secrets, { metadata: REF, type: "kubernetes.io/tls", data: empty });
    await vi.waitFor(() => expect(warnings).toHaveLength(1), WITHIN);
    expect(source.current()).toBeUndefined();

    const first = pair();
    await write(keyPairData(first));
    await vi.waitFor(() => expect(source.current()?.cert).toBe(first.certificate.pem), WITHIN);

    const second = pair();
    await write(keyPairData(second));
    await vi.waitFor(() => expect(source.current()?.cert).toBe(second.certificate.pem), WITHIN);
    expect(changes).toBe(2);

    await write({ "tls.key": keyPairData(first)["tls.key"] ?? "" });
    await vi.waitFor(() => expect(warnings).toHaveLength(2), WITHIN);
    expect(warnings[1]).toBe(
      "Secret default/serving holds no certificate with its key: the last valid one stays in service",
    );
    await client.delete(RESOURCES.secrets, REF);
    const third = pair();
    await client.create(RESOURCES.secrets, { metadata: REF, type: "kubernetes.io/tls", data: keyPairData(third) });
    await vi.waitFor(() => expect(source.current()?.cert).toBe(third.certificate.pem), WITHIN);
    expect(changes).toBe(3);
  });
});
