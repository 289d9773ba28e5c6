import { describe, expect, it } from "vitest";
import { makeDelegate } from "./delegate.ts";
import { networkStatus } from "./network-status.ts";

const selection = { namespace: "default", name: "blue", interface: "net1" };
const mac = "02:00:00:00:00:01";

describe("a delegate", () => {
  it("runs a single plugin as version 0.1.0 under the NAD's name when it says neither", () => {
    const { cniVersion, plugins } = makeDelegate(selection, '{"type": "bridge", "bridge": "br1"}');
    expect(cniVersion).toBe("0.1.0");
    expect(plugins).toEqual([{ type: "bridge", bridge: "br1", name: "blue", cniVersion: "0.1.0" }]);
  });

  it("gives the MAC to plugins that declare the capability, and to all in CNI_ARGS", () => {
    const config = {
      cniVersion: "0.4.0",
      name: "list",
      plugins: [{ type: "bridge", capabilities: { mac: true, ips: true } }, { type: "tuning" }],
    };
    const { plugins, args } = makeDelegate({ ...selection, mac }, JSON.stringify(config));
    expect(plugins.map(({ runtimeConfig }) => runtimeConfig)).toEqual([{ mac }, undefined]);
    expect(plugins.map(({ name, cniVersion }) => [name, cniVersion])).toEqual([
      ["list", "0.4.0"],
      ["list", "0.4.0"],
    ]);
    expect(args).toEqual({ MAC: mac });
  });

  it("adds cni-args to those of the configuration", () => {
    const config = '{"type": "tuning", "args": {"cni": {"a": 1, "b": 2}, "other": 3}}';
    const { plugins } = makeDelegate({ ...selection, cniArgs: { b: 4 } }, config);
    expect(plugins[0]?.args).toEqual({ cni: { a: 1, b: 4 }, other: 3 });
  });

  it.each([
    ["", "spec.config is empty"],
    ["{", "spec.config is not JSON"],
    ["{}", '"type" undefined is not the name of a plugin'],
    ['{"type": "../bin/sh"}', "is not the name of a plugin"],
    ['{"plugins": []}', '"plugins" is empty'],
  ])("refuses the configuration %s", (config, words) => {
    const refused = (): unknown => makeDelegate(selection, config);
    expect(refused).toThrow("default/blue: ");
    expect(refused).toThrow(words);
  });
});

describe("network-status", () => {
  it("lists the links in the pod, with their own addresses", () => {
    const result = {
      interfaces: [
        { name: "br1", mac: "aa" },
        { name: "veth1" },
        { name: "net1", mac, mtu: 1400, sandbox: "/run/netns/x" },
      ],
      ips: [
        { address: "10.0.0.1/24", interface: 0 },
        { address: "10.0.0.5/24", interface: 2 },
      ],
    };
    expect(networkStatus("default/blue", result)).toEqual([
      { name: "default/blue", interface: "net1", ips: ["10.0.0.5"], mac, mtu: 1400, dns: {} },
    ]);
  });
});
