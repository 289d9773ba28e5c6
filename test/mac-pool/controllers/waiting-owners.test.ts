import { expect, it } from "vitest";
import type { ClaimOwner } from "../../../src/api/mac-claim.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { WaitingOwners } from "../../../src/mac-pool/controllers/waiting-owners.ts";

const owner = (name: string, since: string): ClaimOwner => ({
  kind: "VirtualMachine",
  namespace: "default",
  name,
  interface: "a",
  since,
});
const [web, db] = [owner("web", "2026-01-01T00:00:00Z"), owner("db", "2026-01-01T00:00:00Z")];

it("counts for each owner from when it was first seen, and anew when it is admitted again", () => {
  let nowMs = 1_000;
  const waiting = new WaitingOwners({ ...systemClock, monotonicMs: () => nowMs });
  expect(waiting.elapsedMs("claim", [web])).toEqual([0]);
  nowMs += 500;
  expect(waiting.elapsedMs("claim", [web, db])).toEqual([500, 0]);
  expect(waiting.elapsedMs("another", [web])).toEqual([0]);
  nowMs += 500;
  const again = owner("web", "2026-01-01T00:00:01Z");
  expect(waiting.elapsedMs("claim", [db, again])).toEqual([500, 0]);
  expect(waiting.elapsedMs("claim", [web])).toEqual([0]);
  nowMs += 500;
  expect(waiting.elapsedMs("claim", [web])).toEqual([500]);
  waiting.forget("claim");
  expect(waiting.elapsedMs("claim", [web])).toEqual([0]);
});
