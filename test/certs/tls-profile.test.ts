import { createSecureContext } from "node:tls";
import { describe, expect, it } from "vitest";
import { tlsLimits } from "../../src/certs/tls-profile.ts";

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

  it("is something that the library takes", () => {
    for (const type of ["Old", "Intermediate", "Modern"] as const) {
      expect(() => createSecureContext(tlsLimits({ type }))).not.toThrow();
    }
  });
});
