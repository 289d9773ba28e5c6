import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseKeyPair } from "../../src/certs/certificate.ts";
import { SelfSignedTlsSource, selfSigned } from "../../src/certs/self-signed.ts";
import { ManualClock } from "../kube/support/manual-clock.ts";

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

describe("a certificate that signs itself", () => {
  it("is valid for its name and time, and belongs to its key", () => {
    const { cert, key, notAfterMs } = selfSigned({ name: "operator", nowMs: NOW_MS, lifetimeMs: DAY_MS });
    const certificate = new X509Certificate(cert);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(parseKeyPair(String(cert), String(key))).toBeDefined();
    expect(certificate.subject).toBe("CN=operator");
    expect(certificate.checkHost("operator")).toBe("operator");
    expect(certificate.checkHost("other")).toBeUndefined();
    expect(certificate.validFromDate).toEqual(new Date(NOW_MS - 5 * 60_000));
    expect(certificate.validToDate).toEqual(new Date(NOW_MS + DAY_MS));
    expect(notAfterMs).toBe(NOW_MS + DAY_MS);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });

  it("can have a long name", () => {
    const name = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}`;
    const { cert } = selfSigned({ name, nowMs: NOW_MS, lifetimeMs: DAY_MS });
    expect(new X509Certificate(cert).checkHost(name)).toBe(name);
  });

  it("has another serial number each time, which is positive", () => {
    const serials = Array.from({ length: 50 }, () => {
      const { cert } = selfSigned({ name: "operator", nowMs: NOW_MS, lifetimeMs: DAY_MS });
      return new X509Certificate(cert).serialNumber;
    });
    expect(new Set(serials).size).toBe(serials.length);
    expect(serials.every((serial) => /^[4-7][0-9A-F]{31}$/.test(serial))).toBe(true);
  });

  it("is renewed while it is still valid for days", async () => {
    const clock = new ManualClock();
    const source = new SelfSignedTlsSource("operator", clock);
    const stop = new AbortController();
    const running = source.run(stop.signal);
    const first = source.current();
    let changes = 0;
    source.onChange(() => changes++);
    await clock.advance(3 * DAY_MS);
    expect(source.current()).toBe(first);
    await clock.advance(DAY_MS);
    expect(source.current().cert).not.toBe(first.cert);
    expect(changes).toBe(1);
    expect(first.notAfterMs ?? 0).toBeGreaterThan(clock.now() + DAY_MS);
    stop.abort();
    await running;
  });
});
