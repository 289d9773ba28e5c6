import { describe, expect, it } from "vitest";
import { type BridgeConfig, readBridgeConfig } from "../../../cni-plugins/bridge/config.ts";
import { ConfigObject } from "../../../cni-plugins/protocol/config-object.ts";
import { formatMacAddress } from "../../../cni-plugins/protocol/mac-address.ts";

function read(values: Record<string, unknown>, cniArgs = ""): { config: BridgeConfig; warnings: string[] } {
  const warnings: string[] = [];
  const config = readBridgeConfig(new ConfigObject(values), cniArgs, (text) => warnings.push(text));
  return { config, warnings };
}

function mac(values: Record<string, unknown>, cniArgs = ""): string | undefined {
  const { config } = read(values, cniArgs);
  return config.mac && formatMacAddress(config.mac);
}

describe("the bridge plugin's configuration", () => {
  it("has the reference's defaults", () => {
    expect(read({}).config).toEqual({
      bridge: "cni0",
      mtu: undefined,
      hairpin: false,
      promiscuous: false,
      isolated: false,
      containerDown: false,
      mac: undefined,
      dns: {},
    });
  });

  it("takes the MAC from runtimeConfig before args before CNI_ARGS", () => {
    const runtimeConfig = { mac: "02:00:00:00:00:01" };
    const args = { cni: { mac: "02:00:00:00:00:02" } };
    const cniArgs = "MAC=02:00:00:00:00:03";
    expect(mac({ runtimeConfig, args }, cniArgs)).toBe("02:00:00:00:00:01");
    expect(mac({ args }, cniArgs)).toBe("02:00:00:00:00:02");
    expect(mac({}, cniArgs)).toBe("02:00:00:00:00:03");
    expect(mac({ runtimeConfig: { mac: "" } }, cniArgs)).toBe("02:00:00:00:00:03");
  });

  it.each([
    [{ runtimeConfig: { mac: "02:00" } }, /runtimeConfig.mac: "02:00" is not a MAC address/],
    [{ args: { cni: { mac: "01:00:00:00:00:00" } } }, /args.cni.mac: .* is a multicast address/],
    [{ bridge: "a/b" }, /"bridge": "a\/b" contains "\/"/],
    [{ bridge: "sixteen-letters-" }, /longer than 15/],
    [{ mtu: 67 }, /"mtu" must be 0 \(the default\) or a whole number from 68 to 65535/],
    [{ mtu: -1 }, /"mtu" must be/],
    [{ mtu: 65536 }, /"mtu" must be/],
    [{ portIsolation: "true" }, /"portIsolation" must be true or false, found the string "true"/],
    [{ hairpinMode: true, promiscMode: true }, /exclude each other/],
    [{ dns: { nameservers: "10.0.0.1" } }, /"dns.nameservers" must be a list of strings/],
  ])("is refused: %j", (values, message) => {
    expect(() => read(values)).toThrow(message);
  });

  it.each([
    { ipam: { type: "host-local" } },
    { isGateway: true },
    { isDefaultGateway: true },
    { ipMasq: true },
    { macspoofchk: true },
    { vlan: 100 },
    { vlanTrunk: [{ id: 100 }] },
    { VLAN: 100 },
  ])("is refused rather than half done: %j", (values) => {
    const [key = ""] = Object.keys(values);
    expect(() => read(values)).toThrow(new RegExp(`"${key}" is not supported`, "i"));
  });

  it("may switch off what is not supported", () => {
    const off = { ipam: {}, isGateway: false, ipMasq: false, macspoofchk: false, vlan: 0, vlanTrunk: [] };
    expect(read(off).warnings).toEqual([]);
  });

  it("gets a warning for a key nobody knows and for one without effect", () => {
    const { warnings } = read({ brigde: "br1", zzzzzzzz: 1, enabledad: true, HairpinMode: true });
    expect(warnings).toEqual([
      'unknown key "brigde" is ignored: did you mean "bridge"?',
      'unknown key "zzzzzzzz" is ignored',
      '"enabledad" has no effect on a layer 2 attachment',
    ]);
  });
});
