import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";

const ANNOTATIONS = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };
const CONFIG = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" };

const lint = (config: object) =>
  lintNetwork({ name: "br1-net", annotations: ANNOTATIONS, config: JSON.stringify(config) });
const codes = (config: object): string[] => lint(config).map(({ code }) => code);

describe("the lint of the bridge's keys", () => {
  it.each([
    { type: "host-local", ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "fd00:1::/64" }]] },
    { type: "static", addresses: [{ address: "fd00::2/64" }] },
  ])("notes that pods listen to routers besides %j, unless the network says whether they do", (ipam) => {
    const config = { cniVersion: "1.0.0", type: "bridge", bridge: "br1", ipam };
    expect(lint(config)).toEqual([
      {
        code: "advertisements-beside-ipam",
        severity: "note",
        message:
          '"ipam" gives an IPv6 address, and pods take others, and default routes, from router advertisements too. ' +
          'Write "acceptRa": false to switch those off, or true if they are meant.',
      },
    ]);
    expect(codes({ ...config, acceptRa: false })).toEqual([]);
    expect(codes({ ...config, acceptRa: true })).toEqual([]);
    expect(
      codes({ ...config, ipam: { ...ipam, ranges: undefined, addresses: [], subnet: "10.1.0.0/24" } }),
    ).not.toContain("advertisements-beside-ipam");
  });

  it("notes allowed addresses where nothing checks them", () => {
    expect(codes({ ...CONFIG, allowedMacs: ["02:00:00:00:00:00/8"] })).toEqual(["key-without-effect"]);
    expect(codes({ ...CONFIG, macspoofchk: true, allowedMacs: ["00:00:5e:00:01:00/24"] })).toEqual(["plugin-refuses"]);
    expect(codes({ ...CONFIG, macspoofchk: true, allowedMacs: ["00:00:5e:00:00:00/24"] })).toEqual([]);
  });
});
