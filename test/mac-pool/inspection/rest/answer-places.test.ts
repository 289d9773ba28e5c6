import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { AnswerPlaces } from "../../../../src/mac-pool/inspection/rest/rest.ts";
import { RestFixture } from "./rest-fixture.ts";

const POOLS = { default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] } };

describe("places for answers", () => {
  it("are 64, of which one user has 32, and are free again when the answer is out", () => {
    const places = new AnswerPlaces();
    const answers = Array.from({ length: 64 }, () => new EventEmitter());
    for (const [at, answer] of answers.entries()) places.take(answer, at < 32 ? "one" : `other-${at}`);
    expect(() => places.take(new EventEmitter(), "late")).toThrow("Too many answers are under way.");
    answers[63]?.emit("close");
    expect(() => places.take(new EventEmitter(), "one")).toThrow("32 of them are for you");
    places.take(new EventEmitter(), "late");
    answers[0]?.emit("close");
    places.take(new EventEmitter(), "one");
  });

  it("are not taken by strangers, who wait to be told that nobody knows them", async () => {
    await using fixture = await RestFixture.start({ pools: POOLS });
    fixture.rights.set("viewer", "cluster");
    const strangers = Array.from({ length: 64 }, (_, at) => fixture.get("/api/v1/pools", `stranger-${at}`));
    await fixture.waitingStrangers(64);
    expect((await fixture.get("/api/v1/pools", "viewer")).status).toBe(200);
    fixture.refuseStrangers();
    expect(new Set((await Promise.all(strangers)).map(({ status }) => status))).toEqual(new Set([401]));
  });
});
