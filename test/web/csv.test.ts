import { describe, expect, it } from "vitest";
import { toCsv } from "../../src/web/csv.ts";

describe("a table as CSV", () => {
  it("quotes what has separators, quotes or ends of lines", () => {
    expect(toCsv(["a", "b"], [['x,"y"', "z\nw"]])).toBe('a,b\r\n"x,""y""","z\nw"\r\n');
  });

  it("has no text that a spreadsheet would run", () => {
    const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"];
    const cells = toCsv(
      ["name"],
      formulas.map((formula) => [formula]),
    ).split("\r\n");
    expect(cells.slice(1, -1)).toEqual(["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1"]);
  });
});
