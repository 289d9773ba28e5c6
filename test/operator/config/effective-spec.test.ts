import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRange, rangeSize } from "../../../src/api/mac-range.ts";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import { effectiveSpec, type Previous, unsafeChanges } from "../../../src/operator/config/effective-spec.ts";

const NOTHING: Previous = { spec: undefined, poolRange: undefined };
const fill = (spec: NetworkAddonsConfigSpec, previous = NOTHING, random = () => 0.5) =>
  effectiveSpec(spec, previous, random);
const previously = (spec: NetworkAddonsConfigSpec): Previous => ({ ...NOTHING, spec });

describe("the effective spec", () => {
  it("chooses a random range of 16.7 million addresses after 02", () => {
    expect(fill({ kubeMacPool: {} }).kubeMacPool).toEqual({
      rangeStart: "02:80:00:00:00:00",
      rangeEnd: "02:80:00:ff:ff:ff",
    });
    const randomNumber = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(randomNumber, (value) => {
        const pool = fill({ kubeMacPool: {} }, NOTHING, () => value).kubeMacPool;
        const parsed = parseRange(pool ?? { rangeStart: "", rangeEnd: "" }, { allowSingle: false });
        return parsed.ok && rangeSize(parsed.range) === 2 ** 24 && pool?.rangeStart.startsWith("02:") === true;
      }),
    );
  });

  it("keeps the range that was chosen before", () => {
    const range = { rangeStart: "02:aa:bb:00:00:00", rangeEnd: "02:aa:bb:ff:ff:ff" };
    expect(fill({ kubeMacPool: {} }, previously({ kubeMacPool: range })).kubeMacPool).toEqual(range);
  });

  it("takes the range of a pool that outlived its component", () => {
    const poolRange = { rangeStart: "02:aa:bb:00:00:00", rangeEnd: "02:aa:bb:ff:ff:ff" };
    expect(fill({ kubeMacPool: {} }, { ...NOTHING, spec: { linuxBridge: {} }, poolRange }).kubeMacPool).toEqual(
      poolRange,
    );
  });

  it("follows a range that is asked for", () => {
    const asked = { rangeStart: "02:00:00:00:00:00", rangeEnd: "02:00:00:00:00:ff" };
    const old = { rangeStart: "02:aa:bb:00:00:00", rangeEnd: "02:aa:bb:ff:ff:ff" };
    expect(fill({ kubeMacPool: asked }, previously({ kubeMacPool: old })).kubeMacPool).toEqual(asked);
  });

  it("keeps a range as it is written", () => {
    const asked = { rangeStart: "0200.0000.0000", rangeEnd: "02-00-00-00-00-FF" };
    expect(fill({ kubeMacPool: asked }).kubeMacPool).toEqual(asked);
    expect(fill({ kubeMacPool: {} }, previously({ kubeMacPool: asked })).kubeMacPool).toEqual(asked);
  });

  it("has no pool when none is asked for", () => {
    expect(fill({ linuxBridge: {} })).not.toHaveProperty("kubeMacPool");
  });

  it("takes the runtime's socket that was asked for, else applied before", () => {
    const before = { ...NOTHING, spec: { multusDynamicNetworks: { hostCRISocketPath: "/run/crio/crio.sock" } } };
    const socket = (asked: string, previous: Previous) =>
      fill({ multus: {}, multusDynamicNetworks: { hostCRISocketPath: asked } }, previous).multusDynamicNetworks;
    const asked = "/run/k3s/containerd/containerd.sock";
    expect(socket(asked, before)).toEqual({ hostCRISocketPath: asked });
    expect(socket("", before)).toEqual({ hostCRISocketPath: "/run/crio/crio.sock" });
    expect(socket("", NOTHING)).toEqual({});
    expect(fill({ multus: {} }, before)).not.toHaveProperty("multusDynamicNetworks");
  });

  it("keeps the device plugin's ConfigMap that was named before", () => {
    const name = (devicePluginConfig: string, previous = NOTHING) =>
      fill({ macvtap: { devicePluginConfig } }, previous).macvtap?.devicePluginConfig;
    const before = previously({ macvtap: { devicePluginConfig: "before" } });
    expect([name(""), name("", before), name("asked", before)]).toEqual([
      "macvtap-deviceplugin-config",
      "before",
      "asked",
    ]);
  });

  it("fills in lifetimes, pull policy and placement", () => {
    const spec = fill({});
    expect(spec.imagePullPolicy).toBe("IfNotPresent");
    expect(spec.selfSignConfiguration).toEqual({
      caRotateInterval: "48h0m0s",
      caOverlapInterval: "24h0m0s",
      certRotateInterval: "24h0m0s",
      certOverlapInterval: "12h0m0s",
    });
    expect(spec.placementConfiguration.workloads.nodeSelector).toEqual({ "kubernetes.io/os": "linux" });
  });

  it("keeps lifetimes that were applied before, except those with which no certificate could be rotated", () => {
    const lifetimes = (value: string) => ({
      ...{ caRotateInterval: value, caOverlapInterval: value },
      ...{ certRotateInterval: value, certOverlapInterval: value },
    });
    const kept = (value: string) =>
      fill({}, previously({ selfSignConfiguration: lifetimes(value) })).selfSignConfiguration;
    expect(kept("10s")).toEqual(lifetimes("10s"));
    for (const wrong of ["9s", "-1h", "1000000h", "soon"]) expect(kept(wrong)).toEqual(fill({}).selfSignConfiguration);
  });

  it("replaces a given half of the placement whole and defaults the other", () => {
    const workloads = { nodeSelector: { a: "b" } };
    const { placementConfiguration } = fill({ placementConfiguration: { workloads } });
    expect(placementConfiguration.workloads).toEqual(workloads);
    expect(placementConfiguration.infra).toHaveProperty("affinity.nodeAffinity");
  });

  it("keeps the pull policy and refuses to change it", () => {
    const previous = previously({ imagePullPolicy: "Always" });
    expect(fill({}, previous).imagePullPolicy).toBe("Always");
    expect(unsafeChanges({ imagePullPolicy: "Never" }, previous)).toEqual([
      "cannot modify ImagePullPolicy configuration once components were deployed",
    ]);
    expect(unsafeChanges({ imagePullPolicy: "Always" }, previous)).toEqual([]);
    expect(unsafeChanges({}, previous)).toEqual([]);
    expect(unsafeChanges({ imagePullPolicy: "Never" }, NOTHING)).toEqual([]);
  });
});
