import { describe, expect, it, vi } from "vitest";
import { formatMacPrefix } from "../../../cni-plugins/bridge/allowed-macs.ts";
import { type BridgeConfig, readBridgeConfig } from "../../../cni-plugins/bridge/config.ts";
import { ConfigObject } from "../../../cni-plugins/cni/config-object.ts";
import { formatMacAddress } from "../../../cni-plugins/cni/mac-address.ts";

const MAC = "00:00:5e:00:01:0a";

function read(values: Record<string, unknown>, cniArgs = ""): { config: BridgeConfig; warnings: string[] } {
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const config = readBridgeConfig(new ConfigObject(values, "", warn), cniArgs, warn);
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
      spoofCheck: false,
      allowedMacs: [],
      containerDown: false,
      quiet: false,
      acceptRa: true,
      mac: undefined,
      vlans: undefined,
      addressing: undefined,
      dns: {},
    });
  });

  it("takes booleans and numbers in quotes, with one warning each", () => {
    const quoted = { portIsolation: "true", macspoofchk: "false", vlanTrunk: [{ id: "20" }], vlan: "100", mtu: "1400" };
    const { config, warnings } = read(quoted);
    expect(config).toMatchObject({ isolated: true, spoofCheck: false, mtu: 1400 });
    expect(config.vlans).toMatchObject({ access: 100, trunk: [20] });
    expect(warnings.sort()).toEqual([
      '"macspoofchk" is the string "false", taken as false: write it without quotes, because other plugins refuse it',
      '"mtu" is the string "1400", taken as 1400: write it without quotes, because other plugins refuse it',
      '"portIsolation" is the string "true", taken as true: write it without quotes, because other plugins refuse it',
      '"vlan" is the string "100", taken as 100: write it without quotes, because other plugins refuse it',
      '"vlanTrunk[0].id" is the string "20", taken as 20: write it without quotes, because other plugins refuse it',
    ]);
  });

  it.each([{ toString: "" }, [5], true])("takes %j for no number", (value) => {
    expect(() => read({ mtu: value })).toThrow('"mtu" must be 0');
    expect(() => read({ vlan: value })).toThrow('"vlan" must be a whole number from 0 to 4094');
  });

  it("takes the bridge's MTU when told to", () => {
    expect(read({ mtu: "inherit" })).toEqual({ config: expect.objectContaining({ mtu: "inherit" }), warnings: [] });
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
    [{ mtu: 67 }, /"mtu" must be 0 \(the default\), "inherit" \(the bridge's\) or a whole number from 68 to 65535/],
    [{ mtu: -1 }, /"mtu" must be/],
    [{ mtu: 65536 }, /"mtu" must be/],
    [{ portIsolation: "yes" }, /"portIsolation" must be true or false, found the string "yes"/],
    [{ portIsolation: "True" }, /"portIsolation" must be true or false/],
    [{ portIsolation: "" }, /"portIsolation" must be true or false/],
    [{ vlan: "" }, /"vlan" must be a whole number/],
    [{ vlan: "0x10" }, /"vlan" must be a whole number/],
    [{ vlan: " 5" }, /"vlan" must be a whole number/],
    [{ vlan: "4095" }, /"vlan" must be a whole number from 0 to 4094, found the string "4095"/],
    [{ mtu: "67" }, /"mtu" must be 0/],
    [{ mtu: "Inherit" }, /"mtu" must be 0/],
    [{ hairpinMode: true, promiscMode: true }, /exclude each other/],
    [{ ipam: { type: "static" }, disableContainerInterface: true }, /"ipam" and "disableContainerInterface" exclude/],
    [{ ipam: { type: "static" }, quiet: true }, /"ipam" and "quiet" exclude/],
    [{ ipMasqBackend: "pf" }, /"ipMasqBackend" must be "iptables" or "nftables"/],
    [{ vlan: 4095 }, /"vlan" must be a whole number from 0 to 4094/],
    [{ vlanTrunk: [{ minID: 5 }] }, /"vlanTrunk\[0\].maxID" is missing: a range has minID and maxID$/],
    [{ vlanTrunk: [{ maxID: 5 }] }, /"vlanTrunk\[0\].minID" is missing: a range has minID and maxID$/],
    [{ vlanTrunk: [{ minID: 9, maxID: 5 }] }, /minID 9 is greater than maxID 5/],
    [{ vlanTrunk: [{ id: 0 }] }, /"vlanTrunk\[0\].id" must be a whole number from 1 to 4094/],
    [{ dns: { nameservers: "10.0.0.1" } }, /"dns.nameservers" must be a list of strings/],
    [{ acceptRa: 0 }, /"acceptRa" must be true or false, found the number 0/],
    [{ allowedMacs: "00:00:5e:00:01:0a" }, /"allowedMacs" must be a list of strings/],
    [{ allowedMacs: [5] }, /"allowedMacs" must be a list of strings/],
    [{ allowedMacs: Array(65).fill(MAC) }, /"allowedMacs" has 65 entries, more than 64/],
  ])("is refused: %j", (values, message) => {
    expect(() => read(values)).toThrow(message);
  });

  it.each([
    ["", "is not a MAC address"],
    ["00:00:5e:00:01", "is not a MAC address"],
    [`${MAC}/40/40`, "is not a MAC address"],
    ["x".repeat(500), `"${"x".repeat(60)}" is not a MAC address`],
    [`${MAC}/`, "has no prefix length from 1 to 48"],
    [`${MAC}/0`, "has no prefix length from 1 to 48"],
    [`${MAC}/49`, "has no prefix length from 1 to 48"],
    [`${MAC}/040`, "has no prefix length from 1 to 48"],
    [`${MAC}/40.5`, "has no prefix length from 1 to 48"],
    [`${MAC}/4e1`, "has no prefix length from 1 to 48"],
    [`${MAC}/40`, "has bits beyond its prefix: write 00:00:5e:00:01:00/40"],
    ["0000.5e00.01ff/45", "has bits beyond its prefix: write 00:00:5e:00:01:f8/45"],
    ["00:00:00:00:00:01/48", undefined],
    ["00:00:00:00:00:00", "is all zeroes"],
    ["00:00:00:00:00:00/48", "is all zeroes"],
    ["01:00:5e:00:00:12", "is a multicast address"],
    ["01:00:00:00:00:00/8", "is a multicast address"],
    ["01:00:00:00:00:00/7", "has bits beyond its prefix: write 00:00:00:00:00:00/7"],
  ])("reads %j as an allowed MAC, or says: %s", (entry, fault) => {
    const allowed = () => read({ macspoofchk: true, allowedMacs: [MAC, entry] });
    if (fault === undefined) expect(allowed().warnings).toEqual([]);
    else expect(allowed).toThrow(new RegExp(`^"allowedMacs\\[1\\]": "[^"]*" ${fault.replace(/^"[^"]*" /, "")}`));
  });

  it("reads allowed MACs in any notation, and prefixes of 1 to 48 bits", () => {
    const allowedMacs = [
      "0000.5E00.010A",
      "00-00-5e-00-01-00/40",
      "00:00:00:00:00:00/24",
      "80:00:00:00:00:00/1",
      `${MAC}/48`,
    ];
    const { config, warnings } = read({ macspoofchk: true, allowedMacs });
    expect(config.allowedMacs.map(formatMacPrefix)).toEqual([
      MAC,
      "00:00:5e:00:01:00/40",
      "00:00:00:00:00:00/24",
      "80:00:00:00:00:00/1",
      MAC,
    ]);
    expect(warnings).toEqual([]);
    expect(read({ allowedMacs: [MAC], macspoofchk: false }).warnings).toEqual([
      '"allowedMacs" has no effect without "macspoofchk": true',
    ]);
  });

  it.each([
    [{}, true],
    [{ acceptRa: null }, true],
    [{ acceptRa: true }, true],
    [{ AcceptRA: false }, false],
  ])("leaves router advertisements to the kernel unless they are switched off: %j", (values, acceptRa) => {
    expect(read(values).config.acceptRa).toBe(acceptRa);
  });

  it("reads what belongs to addresses only when there are some", () => {
    const ipam = { type: "host-local" };
    expect(read({ isDefaultGateway: true, ipMasq: true }).config.addressing).toBeUndefined();
    expect(read({ ipam, isDefaultGateway: true, ipMasqBackend: "nftables" }).config.addressing).toEqual({
      ipam: "host-local",
      gateway: true,
      defaultGateway: true,
      forceAddress: false,
      masquerade: false,
      masqueradeBackend: "nftables",
      detectDuplicates: false,
    });
  });

  it("takes each VLAN of a trunk once, however often it is named", () => {
    const add = vi.spyOn(Set.prototype, "add");
    const vlanTrunk = Array.from({ length: 500 }, (_, index) => ({
      minID: 1 + (index % 3),
      maxID: 4094 - (index % 2),
    }));
    const { trunk = [] } = read({ vlanTrunk }).config.vlans ?? {};
    const calls = add.mock.calls.length;
    add.mockRestore();
    expect(trunk).toEqual(Array.from({ length: 4094 }, (_, index) => index + 1));
    expect(calls).toBeLessThan(5_000);
  });

  it("reads trunks as one ascending list and names no VLAN for untagged frames without one of their own", () => {
    const vlanTrunk = [{ minID: 20, maxID: 22 }, { id: 21 }, { id: 5 }];
    expect(read({ vlanTrunk }).config.vlans).toMatchObject({ access: 0, accessNamed: false, trunk: [5, 20, 21, 22] });
    expect(read({ vlan: 7, vlanTrunk }).config.vlans).toMatchObject({ access: 7, accessNamed: true });
    expect(read({ vlan: 0, vlanTrunk: [] }).config.vlans).toBeUndefined();
  });

  it("gets a warning for a key nobody knows and for one without effect", () => {
    const { warnings } = read({ brigde: "br1", zzzzzzzz: 1, enabledad: true, HairpinMode: true });
    expect(warnings).toEqual([
      'unknown key "brigde" is ignored: did you mean "bridge"?',
      'unknown key "zzzzzzzz" is ignored',
      '"enabledad" has no effect without "ipam"',
    ]);
  });
});
