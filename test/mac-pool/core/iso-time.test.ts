import fc from "fast-check";
import { test } from "vitest";
import { isoTime } from "../../../src/mac-pool/core/iso-time.ts";

test("a time is written as Date writes it, in whatever order times come", () => {
  const noon = Date.UTC(2026, 10, 22, 12);
  const near = fc.integer({ min: noon - 30_000, max: noon + 30_000 });
  const any = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });
  fc.assert(fc.property(fc.oneof(near, any), (ms) => isoTime(ms) === new Date(ms).toISOString()));
});
