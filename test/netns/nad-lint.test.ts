import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { share } from "../support/share.ts";
import { compareNetworks } from "./lint-comparison.ts";
import { THIS_MACHINE } from "./machine.ts";

const CASES = share(160);

it("the lint and an ADD agree: none fails without a finding, and no network that works is said not to start", async () => {
  const { worked, failed, disagreements } = await compareNetworks(THIS_MACHINE, "plain", CASES, tmpdir());
  expect(disagreements).toEqual([]);
  expect(worked).toBeGreaterThan(CASES / 5);
  expect(failed).toBeGreaterThan(CASES / 5);
}, 600_000);
