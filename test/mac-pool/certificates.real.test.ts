import { type ConnectionOptions, connect, type SecureVersion } from "node:tls";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIG_CRD } from "../../src/api/crds.ts";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { MAC_POOL_CA_SECRET, MAC_POOL_SERVICE, MAC_POOL_WEBHOOK_CONFIGURATION } from "../../src/api/names.ts";
import type { TlsSecurityProfile } from "../../src/api/tls-security-profile.ts";
import { CertManager } from "../../src/certs/cert-manager.ts";
import type { Intervals } from "../../src/certs/plan.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { silentLog } from "../../src/kube/log.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { createTlsSecret } from "../certs/granted-user.ts";
import { eventually } from "../support/eventually.ts";
import { machine } from "./machines.ts";
import { POOL_NAMESPACE, PoolFixture } from "./pool-fixture.ts";

/** How long admissions go on; five minutes is the goal, a few rotations are enough to see that none is lost. */
const LOAD_SECONDS = Number(process.env.ROTATION_LOAD_SECONDS ?? 6);
/** On a busy machine rotations take longer to be seen. */
const MORE_MS = 60_000;
const TEST_TIMEOUT_MS = LOAD_SECONDS * 1000 + 2 * MORE_MS;
/** Rotated every few seconds, and valid for long after: API servers take half an overlap to see the next CA. */
const INTERVALS: Intervals = { caRotateMs: 8000, caOverlapMs: 12_000, certRotateMs: 2000, certOverlapMs: 12_000 };
const WORKERS = 8;
const CIPHER = "ECDHE-ECDSA-AES256-GCM-SHA384";

describe("the certificates of the MAC pool on a real API server", () => {
  let fixture: PoolFixture;
  const stop = new AbortController();
  let managing: Promise<void>;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.admin.create(RESOURCES.crds, NETWORK_ADDONS_CONFIG_CRD as never);
    await eventually("the kind is served", async () =>
      fixture.admin.create(NETWORK_ADDONS_CONFIGS, { metadata: { name: "cluster" }, spec: {} }).then(
        () => true,
        () => false,
      ),
    );
    await createTlsSecret(fixture.admin, POOL_NAMESPACE, MAC_POOL_CA_SECRET);
    const manager = new CertManager({
      client: fixture.admin,
      namespace: POOL_NAMESPACE,
      caSecret: MAC_POOL_CA_SECRET,
      servingSecret: MAC_POOL_SERVICE,
      serviceName: "localhost",
      webhookConfigurations: [{ kind: "Mutating", name: MAC_POOL_WEBHOOK_CONFIGURATION }],
      intervals: INTERVALS,
      log: silentLog,
      metrics: new Registry(),
    });
    managing = manager.run(stop.signal);
    await Promise.all(["one", "two"].map((name) => fixture.startReplica(name)));
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks("localhost");
  });
  afterAll(async () => {
    stop.abort();
    await managing;
    await fixture?.[Symbol.asyncDispose]();
  });

  const fingerprints = new Set<string>();
  const admit = async (name: string): Promise<string | undefined> =>
    fixture.admin.create(KINDS.virtualMachines, machine(name, "default", [{ name: "a" }]), { dryRun: true }).then(
      () => undefined,
      (error: Error) => error.message,
    );

  /** Protocol and cipher that a client of these capabilities ends up with. */
  function handshake(options: ConnectionOptions, replica = "one"): Promise<string> {
    return new Promise((resolve) => {
      const { hostname, port } = new URL(fixture.httpsUrl(replica));
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options }, () => {
        fingerprints.add(socket.getPeerCertificate().fingerprint256);
        resolve(`${socket.getProtocol()} ${socket.getCipher().standardName}`);
        socket.destroy();
      });
      socket.once("error", () => resolve("refused"));
    });
  }
  const speaking = (version: SecureVersion, ciphers?: string): Promise<string> =>
    handshake({ minVersion: version, maxVersion: version, ...(ciphers === undefined ? {} : { ciphers }) });
  const setProfile = async (tlsSecurityProfile: TlsSecurityProfile): Promise<void> => {
    const body = { spec: { tlsSecurityProfile } };
    await fixture.admin.patch(NETWORK_ADDONS_CONFIGS, { name: "cluster" }, { type: "merge", body });
  };

  const underLoad = "rotate every few seconds under load, both Secrets lost in the middle, and fail no admission";
  it(underLoad, { timeout: TEST_TIMEOUT_MS }, async () => {
    const endMs = performance.now() + LOAD_SECONDS * 1000;
    const goesOn = (): boolean =>
      performance.now() < endMs || (fingerprints.size < 3 && performance.now() < endMs + MORE_MS);
    const failures: string[] = [];
    let admissions = 0;
    const work = async (worker: number): Promise<void> => {
      for (let i = 0; goesOn(); i++) {
        const failure = await admit(`load-${worker}-${i}`);
        if (failure !== undefined) failures.push(failure);
        admissions++;
      }
    };
    const disturb = async (): Promise<void> => {
      for (let i = 0; goesOn(); i++) {
        await handshake({});
        if (i === 20) {
          const names = [MAC_POOL_SERVICE, MAC_POOL_CA_SECRET];
          await Promise.all(
            names.map((name) => fixture.admin.delete(RESOURCES.secrets, { name, namespace: POOL_NAMESPACE })),
          );
          await Promise.all(names.map((name) => createTlsSecret(fixture.admin, POOL_NAMESPACE, name)));
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await Promise.all([...Array.from({ length: WORKERS }, (_, worker) => work(worker)), disturb()]);
    console.log(`${admissions} admissions in ${LOAD_SECONDS} s, ${fingerprints.size} certificates`);
    expect(failures).toEqual([]);
    expect(fingerprints.size).toBeGreaterThan(2);
    const expiry = /^kubevirt_macpool_certificate_not_after_seconds (\S+)$/m.exec(await fixture.metrics("one"))?.[1];
    expect(Number(expiry) * 1000).toBeGreaterThan(Date.now());
  });

  it("are offered with the TLS versions and ciphers of the NetworkAddonsConfig, changed while serving", async () => {
    expect(await speaking("TLSv1.3")).toMatch(/^TLSv1.3 /);
    expect(await speaking("TLSv1.2")).toBe("refused");
    await setProfile({ type: "Intermediate" });
    await eventually("TLS 1.2", async () => (await speaking("TLSv1.2")).startsWith("TLSv1.2 "));
    expect(await speaking("TLSv1.1", "DEFAULT@SECLEVEL=0")).toBe("refused");
    await setProfile({ type: "Old" });
    await eventually("TLS 1.0", async () => (await speaking("TLSv1", "DEFAULT@SECLEVEL=0")).startsWith("TLSv1 "));
    await setProfile({ type: "Custom", custom: { ciphers: [CIPHER], minTLSVersion: "VersionTLS12" } });
    await eventually("TLS 1.1 is refused", async () => (await speaking("TLSv1.1", "DEFAULT@SECLEVEL=0")) === "refused");
    expect(await speaking("TLSv1.2", CIPHER)).toBe("TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
    expect(await speaking("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256")).toBe("refused");
    expect(await admit("meanwhile")).toBeUndefined();
    // What the library does not know leaves the last good limits in force.
    await setProfile({ type: "Custom", custom: { ciphers: ["NO-SUCH-CIPHER"], minTLSVersion: "VersionTLS12" } });
    expect(await admit("still")).toBeUndefined();
    await setProfile({ type: "Modern", custom: null });
    await eventually("TLS 1.2 is refused", async () => (await speaking("TLSv1.2")) === "refused");
    expect(await speaking("TLSv1.3")).toMatch(/^TLSv1.3 /);
  });
});
