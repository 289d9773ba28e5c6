import { describe, expect, it } from "vitest";
import { nodesHave, nodesOf, onSuchNodes, vlanText } from "../../src/api/network-text.ts";

describe("numbers of nodes", () => {
  it("are as a person says them", () => {
    expect(nodesOf(0, 0)).toBe("no node");
    expect(nodesOf(0, 3)).toBe("no node");
    expect(nodesOf(1, 1)).toBe("the only node");
    expect(nodesOf(1, 3)).toBe("1 of 3 nodes");
    expect(nodesOf(2, 2)).toBe("both nodes");
    expect(nodesOf(3, 3)).toBe("all 3 nodes");
    expect(nodesOf(412, 1_000)).toBe("412 of 1,000 nodes");
  });

  it("agree with what the nodes have", () => {
    expect(nodesHave(0, 2, "br1")).toBe("no node has br1");
    expect(nodesHave(1, 1, "br1")).toBe("the only node has br1");
    expect(nodesHave(1, 2, "br1")).toBe("1 of 2 nodes has br1");
    expect(nodesHave(2, 2, "br1")).toBe("both nodes have br1");
  });

  it("give way to the name of a single node", () => {
    expect(onSuchNodes(["node-b"], 1)).toBe("on node-b");
    expect(onSuchNodes(["node-b"], 3)).toBe("on node-b");
    expect(onSuchNodes(["node-a", "node-b"], 3)).toBe("on 2 of 3 nodes, such as node-a");
  });
});

describe("VLANs of a network", () => {
  it("are that of untagged frames, and the trunk", () => {
    expect(vlanText({ vlan: 100 })).toBe("100");
    expect(vlanText({ trunk: "100-110,200" })).toBe("trunk 100-110,200");
    expect(vlanText({ vlan: 5, trunk: "100-110" })).toBe("5, trunk 100-110");
    expect(vlanText({})).toBe("");
  });
});
