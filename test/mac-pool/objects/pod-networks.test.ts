import { describe, expect, it } from "vitest";
import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { podNetworks } from "../../../src/mac-pool/objects/pod-networks.ts";

const read = (text: string) => podNetworks({ metadata: { annotations: { [NETWORKS_ANNOTATION]: text } } });
const elements = (text: string): string[] => {
  const networks = read(text);
  if (networks.form === "none" || networks.form === "malformed") return [networks.form];
  return networks.elements.map(({ network, interface: name, mac }) => `${network} ${name} ${mac}`.trimEnd());
};

describe("the networks annotation of a pod", () => {
  it("is read as a list", () => {
    expect(
      elements('[{"name":"a"},{"name":"b","namespace":"n","interface":"eth9","mac":"02:00:00:00:00:01"}]'),
    ).toEqual(["multus a net1", "multus n/b eth9 02:00:00:00:00:01"]);
    expect(elements("[]")).toEqual([]);
  });

  it("is read as shorthand", () => {
    expect(elements("a")).toEqual(["multus a net1"]);
    expect(elements(" a , n/b@eth9,c@x ")).toEqual(["multus a net1", "multus n/b eth9", "multus c x"]);
  });

  it("asks for nothing where it is missing or empty", () => {
    expect(podNetworks({ metadata: {} })).toEqual({ form: "none" });
    expect(elements("  ")).toEqual(["none"]);
  });

  it("is malformed where multus would not read it either", () => {
    for (const text of ['[{"name":', "{}", "[1]", '["a"]', "a,,b", "n/m/a", "a@", "A b", "a@this-is-too-long-a-name"]) {
      expect([text, elements(text)]).toEqual([text, ["malformed"]]);
    }
  });
});
