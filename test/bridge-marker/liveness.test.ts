import { beforeEach, describe, expect, it } from "vitest";
import { checkLiveness } from "../../src/bridge-marker/liveness.ts";
import { Health } from "../../src/kube/server/health.ts";
import { ManualClock } from "../kube/support/manual-clock.ts";

const LIMITS = { maxUnsyncedMs: 60_000, maxUnansweredMs: 300_000 };

let clock: ManualClock;
let health: Health;
let links: { synced: boolean };
let publisher: { unansweredMs: number };

beforeEach(() => {
  clock = new ManualClock();
  health = new Health();
  links = { synced: true };
  publisher = { unansweredMs: 0 };
  checkLiveness(health, { links, publisher, clock }, LIMITS);
});

describe("the marker is alive", () => {
  it("until the list of links was not complete for a minute, and again when it is", async () => {
    expect(health.reportAlive()).toEqual({ ok: true, checks: { links: "ok", api: "ok" } });
    links.synced = false;
    await clock.advance(LIMITS.maxUnsyncedMs - 1);
    expect(health.reportAlive().ok).toBe(true);
    await clock.advance(1);
    expect(health.reportAlive()).toEqual({
      ok: false,
      checks: { links: "the list of links is not complete", api: "ok" },
    });
    links.synced = true;
    expect(health.reportAlive().ok).toBe(true);
  });

  it("while the list of links is complete now and then", async () => {
    for (let time = 0; time < 3; time++) {
      await clock.advance(LIMITS.maxUnsyncedMs - 1);
      links.synced = true;
      expect(health.reportAlive().ok).toBe(true);
      links.synced = false;
    }
  });

  it("until the API server has answered nothing for five minutes", () => {
    publisher.unansweredMs = LIMITS.maxUnansweredMs - 1;
    expect(health.reportAlive().ok).toBe(true);
    publisher.unansweredMs++;
    expect(health.reportAlive()).toEqual({
      ok: false,
      checks: { links: "ok", api: "the API server does not answer" },
    });
  });
});
