import { expect, it } from "vitest";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import { ErrorGracePeriod } from "../../../src/operator/status/error-grace-period.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";

const refusal = new ApiError({ status: 403, reason: "Forbidden", message: "no" });

it("says at once what is refused, and what does not answer after ten seconds", async () => {
  const clock = new ManualClock();
  const gracePeriod = new ErrorGracePeriod(clock, 300_000);
  const silent = new Error("connection refused");
  expect(gracePeriod.isOver(new Error("not written", { cause: refusal }))).toBe(true);
  gracePeriod.reset();
  expect(gracePeriod.isOver(silent)).toBe(false);
  await clock.advance(9_999);
  expect(gracePeriod.isOver(silent)).toBe(false);
  await clock.advance(1);
  expect(gracePeriod.isOver(silent)).toBe(true);
  gracePeriod.reset();
  expect(gracePeriod.isOver(silent)).toBe(false);
});
