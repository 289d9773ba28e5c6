import { describe, expect, it } from "vitest";
import type { ClaimView } from "../../src/mac-pool/inspection/rest/views.ts";
import { withFirstPage } from "../../src/web/claim-pages.ts";

const claim = (number: number): ClaimView => {
  const mac = `02:00:00:00:00:0${number}`;
  return { name: mac, mac, origin: "automatic", phase: "Bound", owners: [], elsewhere: 0, inRange: true };
};
const claims = (...numbers: number[]) => numbers.map(claim);

describe("the newest first page", () => {
  it("takes the place of the rows that it covers, and leaves those behind it", () => {
    const old = { rows: claims(1, 2, 3, 5, 6), total: 9, next: "after 6" };
    const merged = withFirstPage(old, { items: claims(1, 3, 4), total: 8, continue: "after 4" });
    expect(merged.rows.map(({ mac }) => mac)).toEqual(claims(1, 3, 4, 5, 6).map(({ mac }) => mac));
    expect(merged).toMatchObject({ total: 8, next: "after 6" });
  });

  it("is everything when nothing follows it", () => {
    const old = { rows: claims(1, 2, 3), total: 3, next: undefined };
    expect(withFirstPage(old, { items: claims(2), total: 1 })).toEqual({ rows: claims(2), total: 1, next: undefined });
  });

  it("has the next page after itself when no row was read behind it", () => {
    const old = { rows: claims(1), total: 1, next: undefined };
    const merged = withFirstPage(old, { items: claims(1, 2), total: 3, continue: "after 2" });
    expect(merged).toEqual({ rows: claims(1, 2), total: 3, next: "after 2" });
  });
});
