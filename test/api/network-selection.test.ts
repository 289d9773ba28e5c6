import { describe, expect, it } from "vitest";
import { parseNetworkSelection } from "../../src/api/network-selection.ts";

const read = (annotation: string): string[] | string => {
  const selection = parseNetworkSelection(annotation);
  if (selection.form === "none") return [];
  if (selection.form === "malformed") return selection.reason;
  return selection.elements.map(({ namespace, name, interface: ifname, mac }) =>
    `${namespace}/${name}@${ifname} ${mac}`.trimEnd(),
  );
};

describe("the networks annotation", () => {
  it("is read in its shorthand form, with and without namespace and interface", () => {
    expect(read("br1")).toEqual(["/br1@net1"]);
    expect(read(" br1 , other/br2@eth1,br3@x ")).toEqual(["/br1@net1", "other/br2@eth1", "/br3@x"]);
  });

  it("is read in its JSON form", () => {
    expect(
      read('[{"name":"br1","namespace":"other","interface":"eth9","mac":"02:00:00:00:00:01"},{"name":"br1"}]'),
    ).toEqual(["other/br1@eth9 02:00:00:00:00:01", "/br1@net2"]);
    expect(read('[{"name":"br1","namespace":"","mac":null}]')).toEqual(["/br1@net1"]);
    expect(read("[]")).toEqual([]);
  });

  it("keeps what an element carries besides", () => {
    const element = { name: "br1", "ipam-claim-reference": "x", "cni-args": { a: 1 } };
    expect(parseNetworkSelection(JSON.stringify([element]))).toMatchObject({ elements: [{ raw: element }] });
    expect(parseNetworkSelection("n/br1@eth1")).toMatchObject({
      elements: [{ raw: { name: "br1", namespace: "n", interface: "eth1" } }],
    });
  });

  it("asks for nothing when it is blank", () => {
    expect(parseNetworkSelection("")).toEqual({ form: "none" });
    expect(parseNetworkSelection("  ")).toEqual({ form: "none" });
  });

  it("keeps a network that is asked for twice twice", () => {
    expect(read("br1,br1")).toEqual(["/br1@net1", "/br1@net2"]);
  });

  it.each([
    ["a/b/c", "not of the form"],
    ["br1@a@b", "not of the form"],
    ["br1@", "not of the form"],
    ["br1@this-is-too-long-a-name", "not of the form"],
    ["br1,,br2", "not of the form"],
    ["Br1", "not of the form"],
    ["A b", "not of the form"],
    ["/br1", "not of the form"],
    ['[{"name":', "not valid JSON"],
    ['{"name":"br1"}', "JSON list"],
    ['[{"namespace":"x"}]', "element 0 has no name"],
    ["[null]", "element 0 is not an object"],
    ['["a"]', "element 0 is not an object"],
    ['[{"name":"a"},{"name":"b","namespace":7}]', '"namespace" of element 1 is not a string'],
    ['[{"name":"a","mac":7}]', '"mac" of element 0 is not a string'],
  ])("says what is wrong with %s", (annotation, reason) => {
    expect(read(annotation)).toContain(reason);
  });
});
