import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseNetworkSelection } from "../../src/api/network-selection.ts";
import { share } from "../support/share.ts";

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

  it("is read as far as it was asked for, in both forms", () => {
    for (const annotation of ["a,b,c", '[{"name":"a"},{"name":"b"},{"name":7}]']) {
      const selection = parseNetworkSelection(annotation, 2);
      expect(selection).toMatchObject({ elements: [{ name: "a" }, { name: "b" }], cut: true });
    }
    expect(parseNetworkSelection("a,b", 2)).toMatchObject({ cut: false });
    expect(parseNetworkSelection("a,b")).toMatchObject({ cut: false });
  });

  it("repeats of what is wrong only the beginning", () => {
    const selection = parseNetworkSelection(`${"a".repeat(200_000)}!`);
    expect(selection.form).toBe("malformed");
    expect(JSON.stringify(selection).length).toBeLessThan(300);
  });

  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value));
  const elements = fc
    .array(
      fc.dictionary(
        fc.constantFrom("name", "NAME", "namespace", "mac", "cni-args", "interface", "__proto__", "toString"),
        fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 2 })),
      ),
    )
    .map((list) => JSON.stringify(list));
  const shorthand = fc
    .array(fc.stringMatching(/^[-a-z0-9@/ .A]{0,20}$/), { maxLength: 40 })
    .map((pieces) => pieces.join(","));
  const long = fc
    .tuple(fc.constantFrom("a", "-", "a-", "[", "{", '"', "@", "/", ",", " ", "a,", "\u0000"), fc.nat(60_000))
    .map(([piece, times]) => piece.repeat(times));

  it("is read without an error whatever it is, in no more elements than asked for, each with a name", () => {
    const annotations = fc.oneof(fc.string(), fc.string({ unit: "binary" }), json, elements, shorthand, long);
    fc.assert(
      fc.property(annotations, fc.nat(20), (annotation, limit) => {
        const selection = parseNetworkSelection(annotation, limit);
        if (selection.form === "none") return annotation.trim() === "";
        if (selection.form === "malformed") return selection.reason.length < 512;
        const named = selection.elements.every(({ name, interface: ifname }) => name !== "" && ifname !== "");
        return named && selection.elements.length <= limit;
      }),
      { numRuns: share(2_000) },
    );
  });
});
