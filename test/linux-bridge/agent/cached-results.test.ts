import { describe, expect, it } from "vitest";
import { parseCachedResult } from "../../../src/linux-bridge/agent/cached-results.ts";

const NETNS = "/run/netns/pod";
const CACHED = { kind: "cniCacheV1", containerId: "c1", ifName: "net1", networkName: "net", netns: NETNS };
const COMMON = { network: "net", containerId: "c1", ifname: "net1", netns: NETNS };

function parse(config: unknown, more: object = {}) {
  const encoded = Buffer.from(JSON.stringify(config)).toString("base64");
  return parseCachedResult("file", JSON.stringify({ ...CACHED, config: encoded, ...more }));
}

describe("a cached result", () => {
  it("of one plugin is a record with its configuration", () => {
    const config = { cniVersion: "0.3.1", name: "net", type: "cnv-bridge", bridge: "br1" };
    expect(parse(config)).toEqual([{ file: "file#0", plugin: "bridge", ...COMMON, config: JSON.stringify(config) }]);
  });

  it("of a list gives those of our names, last first, with the list's name and version", () => {
    const plugins = [{ type: "bridge" }, { type: "portmap" }, { type: "tuning", mtu: 1400 }];
    const [tuning, bridge, ...others] = parse({ cniVersion: "1.0.0", name: "net", plugins });
    expect(others).toEqual([]);
    expect([tuning?.plugin, bridge?.plugin]).toEqual(["tuning", "bridge"]);
    expect(JSON.parse(tuning?.config ?? "")).toEqual({ type: "tuning", mtu: 1400, cniVersion: "1.0.0", name: "net" });
    expect(tuning?.file).not.toBe(bridge?.file);
  });

  it("of an older libcni names the namespace in the result only", () => {
    const interfaces = [{ name: "br1" }, { name: "net1", sandbox: "/run/netns/other" }];
    const [found] = parse({ type: "bridge" }, { netns: undefined, result: { interfaces } });
    expect(found?.netns).toBe("/run/netns/other");
  });

  it.each([
    ["is of another kind", { kind: "cniCacheV2" }],
    ["names no namespace", { netns: undefined }],
    ["names no container", { containerId: 7 }],
    ["has no configuration", { config: undefined }],
    ["has a configuration that is no JSON", { config: "AAAA" }],
  ])("that %s is none", (_, more) => {
    expect(parse({ type: "bridge" }, more)).toEqual([]);
  });

  it("of other plugins is none, whatever they are called", () => {
    for (const type of ["macvlan", "constructor", "../bridge", 3]) expect(parse({ type })).toEqual([]);
  });
});
