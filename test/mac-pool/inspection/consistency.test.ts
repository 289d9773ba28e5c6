import { expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { claimOf, FIRST, InspectionBed, owner } from "./inspection-bed.ts";

const ALL = { namespace: undefined };
/** One namespace has as many findings as an answer. */
const FINDINGS = 1_000;
const NAMESPACES = 15;

it("keeps the findings of some namespaces and not of all that are asked about", async () => {
  const names = Array.from({ length: NAMESPACES }, (_, index) => `tenant-${index}`);
  const claims = names.flatMap((namespace, index) =>
    Array.from({ length: FINDINGS }, (_, vm) =>
      claimOf((FIRST + index * FINDINGS + vm) as Mac, [owner(namespace, `vm-${vm}`)]),
    ),
  );
  const clock = { ...systemClock, monotonicMs: () => 0 };
  const namespaces = Object.fromEntries(names.map((name) => [name, {}]));
  await using bed = await InspectionBed.start({ namespaces, claims, clock });
  const findingsIn = async (namespace: string) => (await bed.inspector.consistency(namespace, ALL)).findings;
  const first = [];
  for (const name of names) first.push(await findingsIn(name));
  expect(first.map(({ length }) => length)).toEqual(names.map(() => FINDINGS));
  // The same objects: nobody has looked again.
  expect((await findingsIn("tenant-14"))[0]).toBe(first[14]?.[0]);
  expect((await findingsIn("tenant-0"))[0]).not.toBe(first[0]?.[0]);
});
