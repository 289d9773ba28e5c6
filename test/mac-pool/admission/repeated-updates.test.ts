import { describe, expect, it } from "vitest";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { mac, macsOf, replica, request } from "./ledger-fixture.ts";

const update = (index: Parameters<typeof request>[0], uid: string, interfaces = 1) => {
  const asked = request(index, "web", Array(interfaces).fill(undefined));
  return { ...asked, ref: { ...asked.ref, uid } };
};

describe("an update that is reviewed again", () => {
  it("is given the address that it was given before, by replicas that know nothing of each other", async () => {
    const store = new MemoryClaimStore();
    const replicas = [replica(store, 256), replica(store, 256)];
    const reviews = Array.from({ length: 20 }, (_, count) => {
      const { ledger, index } = replicas[count % 2] ?? replica(store, 256);
      return ledger.claim(update(index, "u1", 2));
    });
    const given = new Set((await Promise.all(reviews)).map((result) => macsOf(result).join(" ")));
    expect(given.size).toBe(1);
    expect(store.claims.size).toBe(2);
  });

  it("shares the address with no other interface and no other object", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 256);
    const results = await Promise.all(["u1", "u2", "u3"].map((uid) => ledger.claim(update(index, uid, 3))));
    expect(new Set(results.flatMap(macsOf)).size).toBe(9);
  });

  it("is given the same while nothing but addresses at rest is left", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 2);
    for (const each of [mac(0), mac(1)]) {
      await ledger.claim(request(index, `old-${each}`, [each]));
      const [claim] = [...store.claims.values()].filter(({ status }) => status?.phase === "Allocated");
      if (claim === undefined) throw new Error("no claim");
      await store.update({ ...claim, status: { phase: "Quarantined", owners: [], until: "2026-01-01T00:00:00.000Z" } });
      index.setClaim(each, { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: each });
    }
    const results = await Promise.all([1, 2, 3].map(() => ledger.claim(update(index, "u1"))));
    expect(new Set(results.flatMap(macsOf))).toEqual(new Set(["02:00:00:00:01:00"]));
  });

  it("does not get what another object has taken meanwhile", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 256);
    const [first = ""] = macsOf(await ledger.claim(update(index, "u1")));
    const claim = [...store.claims.values()].find(({ spec }) => spec.mac === first);
    if (claim?.status === undefined) throw new Error("no claim");
    const owners = claim.status.owners.map((owner) => ({ ...owner, name: "db", uid: "u9" }));
    await store.update({ ...claim, status: { ...claim.status, owners } });
    expect(macsOf(await ledger.claim(update(index, "u1")))).not.toEqual([first]);
  });
});
