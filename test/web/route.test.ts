import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linkTo, parseRoute, VIEWS } from "../../src/web/route.ts";

describe("the address of a view", () => {
  it("leads to the same view with the same arguments", () => {
    const text = fc.string({ minLength: 1, unit: "binary" }).filter((one) => one.isWellFormed());
    const query = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), text, { maxKeys: 4 });
    fc.assert(
      fc.property(fc.constantFrom(...VIEWS), fc.array(text, { maxLength: 3 }), query, (view, args, given) => {
        const route = parseRoute(linkTo(view, args, given));
        expect(route).toEqual({ view, args, query: { ...given } });
      }),
    );
  });

  it("keeps an address readable", () => {
    expect(linkTo("map", ["default"], { from: "02:00:00:00:00:00", to: undefined, phase: "" })).toBe(
      "#/map/default?from=02%3A00%3A00%3A00%3A00%3A00",
    );
    expect(linkTo("overview")).toBe("#/overview");
  });

  it("is the overview where it says nothing that is known", () => {
    for (const fragment of ["", "#", "#/", "#/nonsense", "#/__proto__", "#/%E0%A4%A"]) {
      expect(parseRoute(fragment).view).toBe("overview");
    }
  });
});
