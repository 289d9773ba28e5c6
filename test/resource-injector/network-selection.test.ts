import { describe, expect, it } from "vitest";
import { parseNetworkSelections } from "../../src/resource-injector/network-selection.ts";

const networks = (annotation: string): string[] | string => {
  const parsed = parseNetworkSelections(annotation, "default");
  return parsed.ok ? parsed.networks.map(({ namespace, name }) => `${namespace}/${name}`) : parsed.reason;
};

describe("the networks annotation", () => {
  it("is read in its shorthand form, with and without namespace and interface", () => {
    expect(networks("br1")).toEqual(["default/br1"]);
    expect(networks(" br1 , other/br2@eth1,br3@net0")).toEqual(["default/br1", "other/br2", "default/br3"]);
  });

  it("is read in its JSON form, whatever else an element carries", () => {
    expect(
      networks(
        '[{"name":"br1","namespace":"other","mac":"02:00:00:00:00:01","ipam-claim-reference":"x"},{"name":"br1"}]',
      ),
    ).toEqual(["other/br1", "default/br1"]);
    expect(networks('[{"name":"br1","namespace":""}]')).toEqual(["default/br1"]);
    expect(networks("[]")).toEqual([]);
  });

  it("asks for nothing when it is blank", () => {
    expect(networks("")).toEqual([]);
    expect(networks("  ")).toEqual([]);
  });

  it("keeps a network that is asked for twice twice", () => {
    expect(networks("br1,br1")).toEqual(["default/br1", "default/br1"]);
  });

  it.each([
    ["a/b/c", "not of the form"],
    ["br1@a@b", "not of the form"],
    ["br1@", "not of the form"],
    ["br1,,br2", "not of the form"],
    ["Br1", "not of the form"],
    ['[{"name":', "no valid JSON"],
    ['{"name":"br1"}', "JSON list"],
    ['[{"namespace":"x"}]', "element 0 has no name"],
    ["[null]", "element 0 has no name"],
    ['[{"name":"a"},{"name":"b","namespace":7}]', "namespace of element 1"],
  ])("says what is wrong with %s", (annotation, reason) => {
    expect(networks(annotation)).toContain(reason);
  });
});
