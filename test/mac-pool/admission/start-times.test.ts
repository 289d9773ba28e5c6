import { describe, expect, it } from "vitest";
import type { ClaimOwner } from "../../../src/api/mac-claim.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { StartTimes } from "../../../src/mac-pool/admission/start-times.ts";

const STARTING_MS = 75_000;

function started(name: string, starting = "2026-01-01T00:01:15.000Z"): ClaimOwner {
  const since = "2026-01-01T00:00:00.000Z";
  return { kind: "VirtualMachine", namespace: "default", name, uid: `u-${name}`, interface: "a", since, starting };
}

/** A process that follows the claims. */
function fixture() {
  let nowMs = 0;
  const claims = new Map<string, readonly ClaimOwner[]>();
  const times = new StartTimes({
    clock: { ...systemClock, monotonicMs: () => nowMs },
    startingMs: () => STARTING_MS,
    ownersOf: (claim) => claims.get(claim) ?? [],
  });
  const write = (claim: string, ...owners: readonly ClaimOwner[]): void => {
    const before = claims.get(claim);
    claims.set(claim, owners);
    times.see(claim, owners, before);
  };
  return { times, write, pass: (ms: number) => (nowMs += ms) };
}

describe("the starts that a replica knows", () => {
  it("count from when it first saw them, and are over once and for all", () => {
    const { times, write, pass } = fixture();
    write("c", started("web"));
    pass(70_000);
    write("c", started("web"), { ...started("db"), starting: "2026-01-01T00:02:25.000Z" });
    expect(times.leftMs("c", started("web"))).toBe(5_000);
    pass(10_000);
    expect(times.leftMs("c", started("web"))).toBe(0);
    write("c", started("web"));
    expect(times.leftMs("c", started("web"))).toBe(0);
  });

  it("count anew when the VM starts again", () => {
    const { times, write, pass } = fixture();
    write("c", started("web"));
    pass(80_000);
    const again = started("web", "2026-01-01T00:09:00.000Z");
    write("c", again);
    pass(1_000);
    expect(times.leftMs("c", again)).toBe(74_000);
  });

  it("count from the question where the watch has not told of them yet", () => {
    const { times, write, pass } = fixture();
    expect(times.leftMs("c", started("web"))).toBe(STARTING_MS);
    pass(1_000);
    write("c", started("web"));
    expect(times.leftMs("c", started("web"))).toBe(74_000);
  });

  it("are forgotten when they count no longer, though their claims stay", () => {
    const { times, write, pass } = fixture();
    for (let vm = 0; vm < 200; vm++) {
      write(`c${vm}`, started(`vm-${vm}`));
      pass(1_000);
    }
    expect(times.size).toBeLessThanOrEqual(76);
    pass(STARTING_MS);
    write("last", started("last"));
    expect(times.size).toBe(1);
    expect(times.leftMs("c0", started("vm-0"))).toBe(0);
  });
});
