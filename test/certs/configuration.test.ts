import { describe, expect, it } from "vitest";
import { parseWebhookConfigurationRefs, readIntervals } from "../../src/certs/configuration.ts";

const HOUR_MS = 3_600_000;

describe("the rotation intervals", () => {
  it("are 48, 24, 24 and 12 hours unless the environment says otherwise", () => {
    expect(readIntervals({})).toEqual({
      caRotateMs: 48 * HOUR_MS,
      caOverlapMs: 24 * HOUR_MS,
      certRotateMs: 24 * HOUR_MS,
      certOverlapMs: 12 * HOUR_MS,
    });
    expect(readIntervals({ CA_ROTATE_INTERVAL: "1h30m", CERT_ROTATE_INTERVAL: "" })).toMatchObject({
      caRotateMs: 1.5 * HOUR_MS,
      certRotateMs: 24 * HOUR_MS,
    });
  });

  it.each([
    [{ CA_OVERLAP_INTERVAL: "soon" }, "CA_OVERLAP_INTERVAL: time: invalid duration"],
    [{ CERT_OVERLAP_INTERVAL: "0" }, "CERT_OVERLAP_INTERVAL: 0 is less than 10s"],
    [{ CA_ROTATE_INTERVAL: "9999ms" }, "CA_ROTATE_INTERVAL: 9999ms is less than 10s"],
    [{ CERT_ROTATE_INTERVAL: "-2h" }, "CERT_ROTATE_INTERVAL: -2h is less than 10s"],
  ])("refuse %j and name the variable", (env, reason) => {
    expect(() => readIntervals(env)).toThrow(reason);
  });
});

describe("the list of webhook configurations", () => {
  it("is read from kinds and names", () => {
    expect(parseWebhookConfigurationRefs("Mutating/a, Validating/b-c")).toEqual([
      { kind: "Mutating", name: "a" },
      { kind: "Validating", name: "b-c" },
    ]);
    expect(parseWebhookConfigurationRefs("")).toEqual([]);
  });

  it.each(["a", "Mutating/", "Mutating/a/b", "mutating/a"])("refuses %s", (text) => {
    expect(() => parseWebhookConfigurationRefs(text)).toThrow(`webhook configuration "${text}" is not`);
  });
});
