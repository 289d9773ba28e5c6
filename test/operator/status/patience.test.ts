import { expect, it } from "vitest";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import { Patience } from "../../../src/operator/status/patience.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";

const refusal = new ApiError({ status: 403, reason: "Forbidden", message: "no" });

it("says at once what is refused, and what does not answer after ten seconds", async () => {
  const clock = new ManualClock();
  const patience = new Patience(clock, 300_000);
  const silent = new Error("connection refused");
  expect(patience.isOver(new Error("not written", { cause: refusal }))).toBe(true);
  patience.reset();
  expect(patience.isOver(silent)).toBe(false);
  await clock.advance(9_999);
  expect(patience.isOver(silent)).toBe(false);
  await clock.advance(1);
  expect(patience.isOver(silent)).toBe(true);
  patience.reset();
  expect(patience.isOver(silent)).toBe(false);
});
