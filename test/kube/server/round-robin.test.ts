import { describe, expect, it } from "vitest";
import { RoundRobin } from "../../../src/kube/server/bodies.ts";
import { ManualClock } from "../support/manual-clock.ts";

function queue(): { clock: ManualClock; gone: string[]; wait: (name: string, address?: string) => void } {
  const clock = new ManualClock();
  const roundRobin = new RoundRobin(clock, 10);
  const gone: string[] = [];
  const wait = (name: string, address = "10.0.0.1"): void => roundRobin.wait(address, () => void gone.push(name));
  return { clock, gone, wait };
}

describe("a round robin", () => {
  it("lets one go at a time, in order, and then rests", async () => {
    const { clock, gone, wait } = queue();
    for (const name of "abc") wait(name);
    expect(gone).toEqual([]);
    await clock.advance(10);
    expect(gone).toEqual(["a"]);
    await clock.advance(20);
    expect(gone).toEqual(["a", "b", "c"]);
    expect(clock.pending).toBe(0);
  });

  it("gives an address its turn however many another has in line", async () => {
    const { clock, gone, wait } = queue();
    for (const name of "abcdef") wait(name);
    wait("x", "10.0.0.2");
    wait("y", "10.0.0.2");
    await clock.advance(40);
    expect(gone).toEqual(["a", "x", "b", "y"]);
  });

  it("lets one who comes again wait for the others", async () => {
    const { clock, gone, wait } = queue();
    wait("a");
    wait("b", "10.0.0.2");
    await clock.advance(10);
    wait("a");
    await clock.advance(10);
    expect(gone).toEqual(["a", "b"]);
    await clock.advance(10);
    expect(gone).toEqual(["a", "b", "a"]);
  });
});
