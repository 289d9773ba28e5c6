import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { PoolMetrics } from "../../src/mac-pool/metrics.ts";
import { PoolIndex } from "../../src/mac-pool/pools/pool-index.ts";
import { readPool } from "../../src/mac-pool/pools/pool-settings.ts";

it("tell of an adoption only what the leader knows of pools that exist", async () => {
  const registry = new Registry();
  const index = new PoolIndex();
  const state = { isLeader: true };
  const metrics = new PoolMetrics(
    registry,
    index,
    () => undefined,
    () => state.isLeader,
  );
  const told = async (): Promise<string[]> =>
    (await registry.metrics()).match(/^kubevirt_macpool_adoption\w+\{.*$/gm)?.sort() ?? [];
  const create = (name: string): void => {
    const ranges = [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }];
    index.setPool(readPool({ metadata: { name }, spec: { ranges } }, undefined).settings);
  };
  create("default");
  create("tenant");
  metrics.adopting("tenant", { owners: 2, adopted: 1 });
  metrics.adopting("", { owners: 1, adopted: 1 });
  const ofNoPool = ['kubevirt_macpool_adoption_owners_done{pool=""} 1', 'kubevirt_macpool_adoption_owners{pool=""} 1'];
  const ofTenant = [
    'kubevirt_macpool_adoption_owners_done{pool="tenant"} 1',
    'kubevirt_macpool_adoption_owners{pool="tenant"} 2',
  ];
  expect(await told()).toEqual([...ofNoPool, ...ofTenant].sort());
  index.deletePool("tenant");
  expect(await told()).toEqual(ofNoPool.sort());
  metrics.adopting("tenant", { owners: 2, adopted: 2 });
  expect(await told()).toEqual(ofNoPool);
  state.isLeader = false;
  expect(await told()).toEqual([]);
});
