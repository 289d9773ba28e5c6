/** VLANs, on a kernel that has them. */

import { describe, expect, it } from "vitest";
import { compareNetworks } from "../netns/lint-comparison.ts";
import { share } from "../support/share.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const CASES = share(45);
const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(
  `networks with VLANs${typeof parts === "string" ? `: ${parts}` : ""}`,
  () => {
    it("are what the lint says: no ADD fails without a finding, and none that works is said not to start", async () => {
      if (typeof parts === "string") return;
      await using guest = await Guest.boot(parts);
      const { worked, failed, disagreements } = await compareNetworks(guest, "vlan", CASES, guest.shared);
      expect(disagreements).toEqual([]);
      expect(worked).toBeGreaterThan(CASES / 5);
      expect(failed).toBeGreaterThan(CASES / 5);
    }, 600_000);
  },
);
