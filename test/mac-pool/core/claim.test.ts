import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { CLAIM_LABEL_SHARD, type MACClaim } from "../../../src/api/mac-claim.ts";
import { CLAIM_SHARDS, newClaim, withStatus } from "../../../src/mac-pool/core/claim.ts";

const STATUS = { phase: "Pending", owners: [] } as const;
const claim = (mac: number) =>
  newClaim(mac as Mac, { pool: "default", origin: "automatic" }, { ...STATUS, owners: [] });
const shardOf = ({ metadata }: MACClaim) => metadata.labels?.[CLAIM_LABEL_SHARD];

describe("the shard of a claim", () => {
  it("is its address modulo 4, so that halves of any range are in either half of the claims", () => {
    const shards = Array.from({ length: 32 }, (_, index) => shardOf(claim(0x02_00_00_00_00_05 + index)));
    for (const value of ["0", "1", "2", "3"]) expect(shards.filter((shard) => shard === value)).toHaveLength(8);
    const first = shards.filter((shard) => CLAIM_SHARDS.values[0].includes(shard as "0"));
    expect(first).toHaveLength(16);
  });

  it("comes to a claim that was written without it with the next status", () => {
    const { metadata, ...rest } = claim(7);
    const old: MACClaim = { ...rest, metadata: { ...metadata, labels: { team: "a" } } };
    const { labels } = withStatus(old, { ...STATUS, owners: [] }).metadata;
    expect(labels).toMatchObject({ team: "a", [CLAIM_LABEL_SHARD]: "3" });
  });
});
