import { expect, it } from "vitest";
import { RefusalLog } from "../../../src/mac-pool/webhooks/refusal-log.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";

it("logs of a flood of refusals as many as somebody can read, and how many were left out", async () => {
  const lines: unknown[] = [];
  const info = (fields: unknown): number => lines.push(fields);
  const clock = new ManualClock();
  const log = new RefusalLog({ info } as never, clock);
  for (let index = 0; index < 1000; index++) log.add({ index }, "refused");
  expect(lines).toHaveLength(10);
  await clock.advance(1000);
  log.add({ index: 1000 }, "refused");
  expect(lines.slice(10)).toEqual([{ leftOut: 990 }, { index: 1000 }]);
});
