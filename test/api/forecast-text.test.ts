import { expect, it } from "vitest";
import { forecastText } from "../../src/api/forecast-text.ts";

it.each([
  [40.2, 31, 62, "about 40 days (between 31 and 62 days)"],
  [1, 0.5, 9.4, "about 1 day (between 12 hours and 9.4 days)"],
  [1.2, 0.01, 400, "about 1.2 days (at most 400 days)"],
  [40.2, 31, null, "about 40 days (at least 31 days)"],
  [40.2, 31, 4_200, "about 40 days (at least 31 days)"],
  [0.5, null, null, "about 12 hours"],
  [0.03, 0.01, 2, "less than an hour"],
  [293_407, 900, null, "more than 10 years"],
])("says when a pool is full: %d", (days, atLeast, atMost, text) => {
  expect(forecastText({ days, atLeast, atMost })).toBe(text);
});
