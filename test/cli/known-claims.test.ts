import fc from "fast-check";
import { expect, it } from "vitest";
import { KnownClaims } from "../../src/cli/backends/known-claims.ts";
import type { ListedClaim } from "../../src/cli/backends/pool-backend.ts";
import type { WatchEventView } from "../../src/mac-pool/inspection/rest/views.ts";
import { claims } from "./support/answers.ts";

function claim(number: number, revision: number): ListedClaim {
  const [model] = claims;
  if (model === undefined) throw new Error("there is no claim to take after");
  return { ...model, mac: `02:00:00:00:00:0${number}`, revision: String(revision) };
}

/** What a reader of the events knows. Fails for an event that does not fit what was told before. */
function follow(told: Map<string, string>, events: readonly WatchEventView<ListedClaim>[]): void {
  for (const { type, object } of events) {
    if (object === undefined) throw new Error("an event about nothing");
    expect(told.has(object.mac)).toBe(type !== "ADDED");
    if (type === "DELETED") told.delete(object.mac);
    else told.set(object.mac, object.revision ?? "");
  }
}

it("tells each change once and in order, through lists and events alike", () => {
  const step = fc.oneof(
    fc.record({ put: fc.nat(4) }),
    fc.record({ remove: fc.nat(4) }),
    fc.record({ repeat: fc.nat(4) }),
    fc.constant({ list: true as const }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const truth = new Map<number, ListedClaim>();
      const known = new KnownClaims();
      const told = new Map<string, string>();
      let revision = 0;
      for (const one of steps) {
        if ("put" in one) {
          const object = claim(one.put, ++revision);
          follow(told, known.apply({ type: truth.has(one.put) ? "MODIFIED" : "ADDED", object }));
          truth.set(one.put, object);
        } else if ("remove" in one) {
          follow(told, known.apply({ type: "DELETED", object: claim(one.remove, ++revision) }));
          truth.delete(one.remove);
        } else if ("repeat" in one) {
          const object = truth.get(one.repeat);
          if (object !== undefined) expect(known.apply({ type: "ADDED", object })).toEqual([]);
        } else {
          follow(told, known.replace([...truth.values()]));
        }
      }
      expect(told).toEqual(new Map([...truth.values()].map(({ mac, revision }) => [mac, revision])));
    }),
  );
});

it("tells that the object of a claim has come, which changes no revision", () => {
  const known = new KnownClaims();
  const [waiting, bound] = [{ ...claim(1, 1), phase: "Pending" } as const, { ...claim(1, 1), phase: "Bound" } as const];
  known.apply({ type: "ADDED", object: waiting });
  expect(known.apply({ type: "MODIFIED", object: bound })).toEqual([{ type: "MODIFIED", object: bound }]);
  expect(known.apply({ type: "MODIFIED", object: bound })).toEqual([]);
  expect(known.replace([waiting])).toEqual([{ type: "MODIFIED", object: waiting }]);
});
