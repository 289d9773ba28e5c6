import { describe, expect, it } from "vitest";
import { parseNetworks } from "./network-selection.ts";

describe("the networks annotation", () => {
  it("names interfaces by position and takes the pod's namespace where none is given", () => {
    expect(parseNetworks("blue, other/green@eth7 ,red", "default")).toEqual([
      { namespace: "default", name: "blue", interface: "net1" },
      { namespace: "other", name: "green", interface: "eth7" },
      { namespace: "default", name: "red", interface: "net3" },
    ]);
  });

  it("takes MAC, addresses and arguments from its JSON form", () => {
    const annotation = JSON.stringify([
      { name: "blue", mac: "02:00:00:00:00:01", ips: ["10.0.0.5/24"], interface: "pod1b2c3d4e5f6" },
      { name: "blue", namespace: "other", "cni-args": { vlan: 7 } },
    ]);
    expect(parseNetworks(annotation, "default")).toEqual([
      {
        namespace: "default",
        name: "blue",
        interface: "pod1b2c3d4e5f6",
        mac: "02:00:00:00:00:01",
        ips: ["10.0.0.5/24"],
      },
      { namespace: "other", name: "blue", interface: "net2", cniArgs: { vlan: 7 } },
    ]);
  });

  it("asks for nothing when it is empty", () => {
    expect(parseNetworks(" ", "default")).toEqual([]);
  });

  it.each([
    ["[{]", "not JSON"],
    ['{"name": "blue"}', "expected a JSON list"],
    ["a/b/c", "is not [namespace/]name[@interface]"],
    ['[{"name": "Blue"}]', 'name "Blue" is not valid'],
    ['[{"name": "blue", "interface": "a-name-that-is-too-long"}]', "interface"],
  ])("refuses %s", (annotation, words) => {
    expect(() => parseNetworks(annotation, "default")).toThrow(words);
  });
});
