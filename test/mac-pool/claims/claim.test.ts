import { expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { newClaim, withStatus } from "../../../src/mac-pool/claims/claim.ts";

const GROUP = "macpool.network.kubevirt.io";
const OWNER = {
  kind: "Pod",
  namespace: "lab",
  name: "probe",
  interface: "net1",
  since: "2026-01-02T03:04:05Z",
} as const;
const BOUND = { phase: "Bound" as const, owners: [OWNER] };

it("labels a claim with the phase, and with namespace and kind of its first owner", () => {
  const claim = newClaim(7 as Mac, { pool: "default", origin: "automatic" }, { phase: "Pending", owners: [] });
  expect(claim.metadata.labels).toEqual({ [`${GROUP}/phase`]: "Pending" });
  expect(withStatus(claim, BOUND).metadata.labels).toEqual({
    [`${GROUP}/phase`]: "Bound",
    [`${GROUP}/namespace`]: "lab",
    [`${GROUP}/kind`]: "Pod",
  });
});

it("removes the shard label of earlier versions at the next status, and keeps what others set", () => {
  const claim = newClaim(7 as Mac, { pool: "default", origin: "automatic" }, BOUND);
  const labels = { ...claim.metadata.labels, [`${GROUP}/shard`]: "3", team: "a" };
  const old = { ...claim, metadata: { ...claim.metadata, labels } };
  expect(withStatus(old, { phase: "Quarantined", owners: [] }).metadata.labels).toEqual({
    [`${GROUP}/phase`]: "Quarantined",
    team: "a",
  });
});
