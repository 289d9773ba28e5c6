import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { problemSchema } from "../../../../src/mac-pool/inspection/rest/envelopes.ts";
import { OPERATIONS } from "../../../../src/mac-pool/inspection/rest/operations.ts";
import { readParameters } from "../../../../src/mac-pool/inspection/rest/parameters.ts";
import { Problem } from "../../../../src/mac-pool/inspection/rest/problem.ts";
import { share } from "../../../support/share.ts";
import type { RestAnswer } from "../../rest-client.ts";
import { claimOf, FIRST, owner } from "../inspection-fixture.ts";
import { OTHER_REPLICA, RestFixture } from "../rest/rest-fixture.ts";

const POOLS = { default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] } };
/** What a user may ask at once. */
const BURST = 300;
const LONG = "x".repeat(600);
/** Of the schema library, in any of its messages. */
const LIBRARY_WORDS =
  /invalid|expected|received|too (big|small|long)|unrecognized|pattern|required|regex|undefined|NaN/i;

function codeOf({ status, contentType, body }: RestAnswer): readonly unknown[] {
  expect(contentType).toBe("application/problem+json");
  expect(problemSchema.parse(body).type).toBe(`urn:macpool:${body.code}`);
  expect(body.status).toBe(status);
  return [status, body.code];
}

function refusalOf(schema: z.ZodType, value: unknown): Problem["view"] | undefined {
  try {
    readParameters(schema, value);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.view;
    throw error;
  }
}

describe("what inspection refuses", () => {
  it("is a problem with a code of its own, whatever was asked", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    fixture.rights.set("viewer", "cluster");
    for (const [path, status, code] of [
      ["/api/v1/nothing", 404, "MACPOOL_UNKNOWN_PATH"],
      ["/nothing", 404, "MACPOOL_UNKNOWN_PATH"],
      ["/api/v1/%00", 404, "MACPOOL_UNKNOWN_PATH"],
      [`/api/v1/${LONG}`, 404, "MACPOOL_UNKNOWN_PATH"],
      ["/api/v1/claims/%ff", 400, "MACPOOL_BAD_PATH"],
      ["/api/v1/claims/%zz", 400, "MACPOOL_BAD_PATH"],
      ["/api/v1/pools/", 400, "MACPOOL_BAD_REQUEST"],
      ["/api/v1/pools/%00", 400, "MACPOOL_BAD_REQUEST"],
      ["/api/v1/pools/none", 404, "MACPOOL_NOT_FOUND"],
    ] as const) {
      expect([path, ...codeOf(await fixture.get(path, "viewer"))]).toEqual([path, status, code]);
    }
    for (const method of ["POST", "DELETE", "PUT", "PATCH", "OPTIONS"]) {
      const refused = await fixture.send(method, "/api/v1/claims", "viewer");
      expect(codeOf(refused)).toEqual([405, "MACPOOL_METHOD_NOT_ALLOWED"]);
      expect(refused.headers.allow).toBe("GET");
    }
    expect(codeOf(await fixture.get(`/api/v1/pools/${LONG}`, "viewer"))[0]).not.toBe(500);
  });

  it("is told of each parameter in words of its own: which one, what is wrong, what to write instead", () => {
    const text = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.constantFrom("", "0", "-1", "1.5", "1e9", "true", "null", "__proto__", "02:00", "A", LONG, "x".repeat(2_000)),
    );
    const value = fc.oneof(text, fc.array(text, { minLength: 2, maxLength: 3 }), fc.constant(undefined));
    let refused = 0;
    for (const { params, query } of OPERATIONS) {
      for (const schema of [params, query]) {
        const names = Object.keys(
          (z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }).properties ?? {}) as object,
        );
        if (names.length === 0) continue;
        const asked = fc.tuple(fc.constantFrom(...names), value, fc.boolean());
        fc.assert(
          fc.property(asked, ([name, given, isAlone]) => {
            const others = isAlone ? {} : { colour: "red" };
            const view = refusalOf(schema, { ...(given === undefined ? {} : { [name]: given }), ...others });
            if (view === undefined) return;
            refused += 1;
            const { parameter = "", detail } = problemSchema.parse(view);
            expect([...names, "colour"]).toContain(parameter);
            expect(detail).toContain(parameter);
            expect(detail).toMatch(/: (it must|leave|write)|must (be|have) /);
            expect(detail.replaceAll(JSON.stringify(given ?? ""), "")).not.toMatch(LIBRARY_WORDS);
          }),
          { numRuns: share(200) },
        );
      }
    }
    expect(refused).toBeGreaterThan(share(1_000));
  });

  it("names a parameter that is there twice, is empty, is too long, or is missing", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    fixture.rights.set("viewer", "cluster");
    const detailOf = async (path: string): Promise<string> => (await fixture.get(path, "viewer")).body.detail;
    expect(await detailOf("/api/v1/claims?namespace=a&namespace=b")).toBe(
      'Parameter "namespace" is there more than once: write it once.',
    );
    expect(await detailOf("/api/v1/claims?continue=")).toBe(
      "Parameter continue must be the token of the page before: leave it out for the first page.",
    );
    expect(await detailOf(`/api/v1/claims?owner=${LONG}`)).toBe("Parameter owner must have 1 to 253 characters.");
    expect(await detailOf(`/api/v1/pools/${"x".repeat(300)}`)).toBe(
      "Parameter name must be a Kubernetes name: a-z, 0-9, - and ., at most 253 characters.",
    );
    expect(await detailOf("/api/v1/check?namespace=default")).toContain("Parameter mac is missing: it must be a MAC");
  });

  it("is a user who asks too often, and nobody else", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    for (const reader of ["quick", "calm", OTHER_REPLICA]) fixture.rights.set(reader, "cluster");
    const ask = (reader: string) => fixture.get("/api/v1/status", reader);
    await fixture.exhaust("quick", BURST - 1);
    expect((await ask("quick")).status).toBe(200);
    const refused = await ask("quick");
    expect(codeOf(refused)).toEqual([429, "MACPOOL_TOO_MANY_QUESTIONS"]);
    expect(refused.headers["retry-after"]).toBe("1");
    expect((await ask("calm")).status).toBe(200);
    await fixture.exhaust(OTHER_REPLICA, 2 * BURST);
    expect((await ask(OTHER_REPLICA)).status).toBe(200);
    await fixture.clock.advance(1_000);
    expect((await ask("quick")).status).toBe(200);
  });

  it("has no tag, and is told to who has an answer of before", async () => {
    const claims = [0, 1, 2].map((at) => claimOf((FIRST + at) as typeof FIRST, [owner("mine", `vm-${at}`)]));
    await using fixture = await RestFixture.start({ pools: POOLS, namespaces: { mine: {} }, claims });
    fixture.rights.set("viewer", "cluster");
    fixture.rights.set("tenant", ["mine"]);
    const first = await fixture.get("/api/v1/claims?limit=1", "viewer");
    const next = `/api/v1/claims?limit=1&continue=${first.body.continue}`;
    const { headers } = await fixture.get(next, "viewer");
    const known = { "if-none-match": String(headers.etag) };
    expect((await fixture.get(next, "viewer", known)).status).toBe(304);
    expect((await fixture.get(next, "viewer", { "if-none-match": `"other", W/${headers.etag}` })).status).toBe(304);
    await fixture.clock.advance(6 * 60_000);
    const expired = await fixture.get(next, "viewer", known);
    expect(codeOf(expired)).toEqual([410, "MACPOOL_EXPIRED"]);
    for (const path of [next, "/api/v1/claims/02:00:00:00:00:99", "/api/v1/pools/default/map?cells=0"]) {
      const refused = await fixture.get(path, "viewer");
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.headers.etag).toBeUndefined();
    }
    const own = await fixture.get("/api/v1/claims?namespace=mine", "tenant");
    const all = await fixture.get("/api/v1/claims?namespace=mine", "viewer");
    expect(own.headers.etag).not.toBe(all.headers.etag);
    const foreign = { "if-none-match": String(all.headers.etag) };
    expect((await fixture.get("/api/v1/claims?namespace=mine", "tenant", foreign)).status).toBe(200);
  });
});
