import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import { Random } from "../support/random.ts";
import { FIRST, type Guest, MINUTE_MS, SECOND_MS, SIZE, Wire } from "./wire.ts";

const SEEDS = Array.from({ length: 6 }, (_, seed) => seed);
const HOURS = 3;
const MAX_GUESTS = 12;
const MAX_OUTSIDE = 12;

/** What happens in a second, by weight. */
const HAPPENS = {
  nothing: 60,
  create: 1,
  ask: 0.3,
  delete: 0.7,
  migrate: 4,
  restart: 1,
  reboot: 0.05,
  share: 0.2,
  comes: 0.2,
  twin: 0.05,
} as const;

describe.each(SEEDS)("VMs that move on a wire with others: seed %i", (seed) => {
  it("are reported where they have a twin and never else, and get no address of others", () => {
    const random = new Random(58, seed);
    const wire = new Wire(random);
    const { index, outside } = wire;
    /** Addresses that somebody outside has ever had, and those that a VM has ever had. */
    const [theirs, ours] = [new Set<Mac>(), new Set<Mac>()];
    /** Addresses that the pool has known to be others'. */
    const known = new Set<Mac>();
    const twins = new Map<Guest, { readonly endMs: number; isFound: boolean }>();
    let moves = 0;
    /** One that migrates to and fro all the time. */
    let hasty: { readonly guest: Guest; readonly untilMs: number } | undefined;
    const anyGuest = (): Guest | undefined => {
      const free = [...wire.guests].filter((guest) => ![...twins.keys()].some(({ mac }) => mac === guest.mac));
      return free.length === 0 ? undefined : random.pick(free);
    };
    const isAlone = ({ mac }: Guest): boolean => [...wire.guests].filter((guest) => guest.mac === mac).length === 1;
    const created = (guest: Guest | undefined, isChosen: boolean): void => {
      if (guest === undefined) return;
      if (isChosen) expect(known, formatMac(guest.mac)).not.toContain(guest.mac);
      ours.add(guest.mac);
    };
    const comes = (mac: Mac, forMs: number): void => {
      outside.set(mac, wire.nowMs + forMs);
      theirs.add(mac);
    };

    while (wire.nowMs < HOURS * 60 * MINUTE_MS) {
      wire.pass();
      if (hasty !== undefined && wire.nowMs < hasty.untilMs && !twins.has(hasty.guest)) wire.migrate(hasty.guest);
      const guest = anyGuest();
      const what = random.weighted(HAPPENS);
      if (what === "create" && wire.guests.size < MAX_GUESTS) created(wire.create(), true);
      if (what === "ask" && known.size > 0) created(wire.create(random.pick([...known])), false);
      if (what === "delete" && guest !== undefined) wire.delete(guest);
      if (what === "migrate" && guest !== undefined) {
        moves += 1;
        wire.migrate(guest);
        if (random.chance(0.2)) hasty = { guest, untilMs: wire.nowMs + 2 * MINUTE_MS };
      }
      if (what === "restart" && guest !== undefined) {
        wire.stop(guest);
        wire.start(guest);
      }
      if (what === "reboot" && twins.size === 0) wire.reboot();
      if (what === "share" && guest !== undefined) wire.share(guest);
      if (what === "comes" && outside.size < MAX_OUTSIDE) {
        const mac = (FIRST + random.below(SIZE)) as Mac;
        if (!ours.has(mac)) comes(mac, random.between(10, 120) * MINUTE_MS);
      }
      if (what === "twin" && guest?.node !== undefined && guest.migration === undefined && isAlone(guest)) {
        twins.set(guest, { endMs: wire.nowMs + 6 * MINUTE_MS, isFound: false });
        comes(guest.mac, 6 * MINUTE_MS);
      }
      for (const one of wire.guests) {
        if (!wire.isAlarmed(one)) continue;
        if (!theirs.has(one.mac)) expect.fail(`${formatMac(one.mac)} is reported after ${wire.nowMs / SECOND_MS} s`);
        const twin = twins.get(one);
        if (twin !== undefined) twin.isFound = true;
      }
      for (const mac of index.hosts.macs()) {
        if (!theirs.has(mac)) expect.fail(`${formatMac(mac)} is kept back after ${wire.nowMs / SECOND_MS} s`);
        known.add(mac);
      }
      for (const [one, { endMs, isFound }] of twins) {
        if (wire.nowMs < endMs) continue;
        expect(isFound, `the twin of ${formatMac(one.mac)}`).toBe(true);
        twins.delete(one);
      }
    }
    expect([moves > 100, known.size > 3]).toEqual([true, true]);
  });
});
