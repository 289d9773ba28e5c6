import { expect, it } from "vitest";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { Handler } from "../../../src/kube/informer/informer.ts";
import { Admissions } from "../../../src/mac-pool/caches/admissions.ts";
import type { Informers } from "../../../src/mac-pool/caches/informers.ts";
import { machine } from "../machines.ts";

const MAC = 0x02_00_00_00_00_01;
const OLDER = { metadata: { resourceVersion: "10" } } as MACClaim;

it("remembers no creation that came before the pools were listed: one of them may let the object opt out", () => {
  const handlers: Handler<KubeObject>[] = [];
  const pools = { hasSynced: false };
  const ignored = { on: () => () => {} };
  const machines = { on: (handler: Handler<KubeObject>) => handlers.push(handler) };
  const informers = { machines, pools, namespaces: ignored, instances: ignored, claims: ignored };
  const admissions = new Admissions(informers as unknown as Informers, {
    clock: systemClock,
    pendingMs: () => 120_000,
    isManaged: () => true,
  });
  const create = (name: string, resourceVersion: string): void => {
    const made = machine(name, "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }]);
    const vm = { ...made, metadata: { ...made.metadata, uid: `u-${name}`, resourceVersion } };
    for (const handler of handlers) handler.add?.(vm, { created: true });
  };
  create("early", "11");
  pools.hasSynced = true;
  create("later", "12");
  expect(admissions.createdAfter(OLDER, MAC as never).map(({ name }) => name)).toEqual(["later"]);
});
