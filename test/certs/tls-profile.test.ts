import { createSecureContext } from "node:tls";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tlsSecurityProfileSchema } from "../../src/api/tls-security-profile.ts";
import { readTlsProfile, tlsLimits } from "../../src/certs/tls-profile.ts";

describe("a TLS security profile", () => {
  it("is Modern, TLS 1.3 only, unless something else is asked for", () => {
    for (const profile of [undefined, null, {}, { type: "" as const }, { type: "Modern" as const }]) {
      expect(tlsLimits(profile)).toEqual({
        minVersion: "TLSv1.3",
        ciphers: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
      });
    }
  });

  it("is the one that is named", () => {
    expect(tlsLimits({ type: "Intermediate" })).toMatchObject({
      minVersion: "TLSv1.2",
      ciphers: expect.stringContaining("ECDHE-ECDSA-AES128-GCM-SHA256"),
    });
    expect(tlsLimits({ type: "Intermediate" }).ciphers).not.toContain("-SHA:");
    expect(tlsLimits({ type: "Old" })).toMatchObject({
      minVersion: "TLSv1",
      ciphers: expect.stringMatching(/DES-CBC3-SHA:@SECLEVEL=0$/),
    });
  });

  it("is the custom one where there is one, whatever the type says", () => {
    const ciphers = ["ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_AES_128_GCM_SHA256"];
    expect(tlsLimits({ type: "Old", custom: { ciphers, minTLSVersion: "VersionTLS12" } })).toEqual({
      minVersion: "TLSv1.2",
      ciphers:
        "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384",
    });
    expect(tlsLimits({ custom: { minTLSVersion: "VersionTLS11" } }).minVersion).toBe("TLSv1.1");
  });

  it("is Intermediate in what a custom one leaves out", () => {
    const intermediate = tlsLimits({ type: "Intermediate" });
    expect(tlsLimits({ type: "Custom", custom: {} })).toEqual(intermediate);
    expect(tlsLimits({ type: "Custom", custom: { minTLSVersion: "VersionTLS12" } })).toEqual(intermediate);
    expect(tlsLimits({ type: "Custom", custom: { minTLSVersion: "VersionTLS13" } })).toEqual(tlsLimits({}));
    expect(tlsLimits({ type: "Custom", custom: { ciphers: ["AES128-SHA"] } }).minVersion).toBe("TLSv1.2");
  });

  it("is something that the library takes", () => {
    for (const type of ["Old", "Intermediate", "Modern"] as const) {
      expect(() => createSecureContext(tlsLimits({ type }))).not.toThrow();
    }
  });

  it("is read as the definition's schema has it", () => {
    const wrong = fc.constantFrom<unknown[]>("x", 1, true, [], ["a", 1], {}, null);
    const field = (value: fc.Arbitrary<unknown>) =>
      fc.option(fc.oneof({ weight: 4, arbitrary: value }, wrong), { nil: undefined });
    const noted = field(fc.constantFrom({}, null));
    const custom = fc.record({
      ciphers: field(fc.array(fc.constantFrom("AES128-SHA", "ECDHE-ECDSA-AES256-GCM-SHA384"))),
      minTLSVersion: field(fc.constantFrom("VersionTLS10", "VersionTLS12", "VersionTLS13", "toString")),
    });
    const profile = fc.record({
      type: field(fc.constantFrom("", "Old", "Intermediate", "Modern", "Custom", "Future")),
      old: noted,
      intermediate: noted,
      modern: noted,
      custom: field(custom),
    });
    let valid = 0;
    const sides = (value: unknown): void => {
      // As it comes from the API server.
      const stored = JSON.parse(JSON.stringify({ value })).value;
      const parsed = tlsSecurityProfileSchema.optional().safeParse(stored);
      if (!parsed.success) {
        expect(() => readTlsProfile(stored)).toThrow();
        return;
      }
      valid += 1;
      expect(tlsLimits(readTlsProfile(stored))).toEqual(tlsLimits(parsed.data));
    };
    fc.assert(fc.property(field(profile), sides), { numRuns: 1_000 });
    expect(valid).toBeGreaterThan(100);
  });
});
