import { expect, it } from "vitest";
import { SlowRefusals } from "../../../../src/mac-pool/inspection/rest/reader-access.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";

const AT_ONCE = 100;
const MOST_WAITING = 256;

/** Counts those of so many refusals that may be sent. */
function refuse(refusals: SlowRefusals, count: number, address: string): { sent: number } {
  const counted = { sent: 0 };
  for (let i = 0; i < count; i++) void refusals.turnOf(address).then(() => counted.sent++);
  return counted;
}

it("refuses an address at once for a while, and then fifty times a second", async () => {
  const clock = new ManualClock();
  const flood = refuse(new SlowRefusals(clock), AT_ONCE + 100, "10.0.0.1");
  await clock.advance(0);
  expect(flood.sent).toBe(AT_ONCE);
  await clock.advance(1_000);
  expect(flood.sent).toBe(AT_ONCE + 50);
  await clock.advance(1_000);
  expect(flood.sent).toBe(AT_ONCE + 100);
});

it("lets others have their refusals at once", async () => {
  const clock = new ManualClock();
  const refusals = new SlowRefusals(clock);
  refuse(refusals, AT_ONCE + 50, "10.0.0.1");
  const other = refuse(refusals, 10, "10.0.0.2");
  await clock.advance(0);
  expect(other.sent).toBe(10);
});

it("keeps a bounded number waiting, and takes new ones when they are gone", async () => {
  const clock = new ManualClock();
  const refusals = new SlowRefusals(clock);
  const flood = refuse(refusals, AT_ONCE + MOST_WAITING + 30, "10.0.0.1");
  await clock.advance(0);
  expect(flood.sent).toBe(AT_ONCE + 30);
  await clock.advance((MOST_WAITING * 1_000) / 50);
  expect(flood.sent).toBe(AT_ONCE + MOST_WAITING + 30);
  const later = refuse(refusals, 10, "10.0.0.1");
  await clock.advance(0);
  expect(later.sent).toBe(0);
  await clock.advance(200);
  expect(later.sent).toBe(10);
});
