import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { OBJECT_OPT_OUT_LABEL } from "../../../../src/api/mac-pool-scope.ts";
import { VM_WEBHOOK } from "../../../../src/api/names.ts";
import { systemClock } from "../../../../src/kube/clock.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { Problem } from "../../../../src/mac-pool/inspection/rest/problem.ts";
import * as views from "../../../../src/mac-pool/inspection/rest/views.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";
import { claimOf, FIRST, InspectionFixture, instanceOf, owner, pageOf, vmOf } from "../inspection-fixture.ts";

const RANGE = { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] };
const mac = (offset: number): Mac => (FIRST + offset) as Mac;
const MINE = { namespace: "mine" };
const LAX = { matchExpressions: [{ key: "lax", operator: "Exists" as const }] };
const NAMESPACES = { default: {}, mine: {}, other: {} };

function problemOf(ask: () => unknown): Problem {
  try {
    ask();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("the questions of inspection", () => {
  it("tell how full a pool and each of its ranges are", async () => {
    const ranges = [...RANGE.ranges, { start: "02:5d:1c:00:10:00", end: "02:5d:1c:00:10:07" }];
    const exclusions = [{ start: "02-5D-1C-00-00-F0", end: "025d1c0000ff" }];
    await using fixture = await InspectionFixture.start({
      pools: { default: { ranges, exclusions } },
      claims: [
        claimOf(mac(0), [owner("mine", "a")]),
        claimOf(mac(1), [owner("mine", "b")]),
        claimOf(mac(0x1000), [], { phase: "Quarantined" }),
        claimOf(0x02_00_00_00_00_01 as Mac, [owner("mine", "c")], { origin: "explicit" }),
      ],
      machines: [vmOf("mine", "a", [mac(0)])],
    });
    const pool = views.poolViewSchema.parse(fixture.inspector.pool("default", true));
    expect(pool).toMatchObject({ capacity: 248, used: 3, pending: 1, quarantined: 1, outOfRange: 1 });
    expect(pool.ranges).toMatchObject([
      { first: "02:5d:1c:00:00:00", last: "02:5d:1c:00:00:ef", capacity: 240, used: 2, pending: 1, quarantined: 0 },
      { first: "02:5d:1c:00:10:00", capacity: 8, used: 1, free: 7, quarantined: 1 },
    ]);
    expect(pool.exclusions).toEqual(["02:5d:1c:00:00:f0-02:5d:1c:00:00:ff"]);
    expect(problemOf(() => fixture.inspector.pool("defualt", true)).view).toMatchObject({
      code: "MACPOOL_NOT_FOUND",
      didYouMean: "default",
    });
    expect(problemOf(() => fixture.inspector.pool("defualt", false)).view).not.toHaveProperty("didYouMean");
  });

  it("tell nobody what he may not see", async () => {
    const [own, foreign] = [vmOf("mine", "web", [mac(5)]), vmOf("other", "secret", [mac(5)])];
    await using fixture = await InspectionFixture.start({
      pools: { default: RANGE },
      namespaces: NAMESPACES,
      claims: [
        claimOf(mac(5), [owner("mine", "web"), owner("other", "secret")]),
        claimOf(mac(6), [owner("other", "hidden")]),
      ],
      machines: [own, foreign],
      instances: [instanceOf(own, "node-a"), instanceOf(foreign, "node-b")],
      pods: [],
    });
    const { inspector } = fixture;
    const told = [
      pageOf(inspector, { limit: 10 }, MINE),
      pageOf(inspector, { limit: 10, search: "hidden" }, MINE),
      pageOf(inspector, { limit: 10, owner: "secret" }, MINE),
      inspector.claim(formatMac(mac(5)), MINE),
      inspector.collisionsIn(undefined, MINE),
      await inspector.consistency(undefined, MINE),
      inspector.namespacesIn(undefined, MINE),
      inspector.check(formatMac(mac(5)), "mine", MINE),
      inspector.check(formatMac(mac(6)), "mine", MINE),
      await inspector.owner({ kind: "VirtualMachine", namespace: "mine", name: "web" }, MINE),
      problemOf(() => inspector.claim(formatMac(mac(6)), MINE)).view,
      problemOf(() => inspector.claim(formatMac(mac(7)), MINE)).view,
    ];
    const text = JSON.stringify(told);
    for (const name of ["secret", "hidden", '"other"', "other/", "node-b"]) expect(text).not.toContain(name);
    expect(told[0]).toMatchObject({ total: 1, items: [{ elsewhere: 1 }] });
    expect(told[1]).toMatchObject({ total: 0 });
    expect(told[4]).toMatchObject({ total: 1, items: [{ parties: [{ name: "web", node: "node-a" }], elsewhere: 1 }] });
    expect(told[8]).toMatchObject({ accepted: false, code: "MACPOOL_CONFLICT", holders: [], elsewhere: 1 });
    expect(JSON.stringify(inspector.collisionsIn(undefined, EVERYTHING))).toContain("secret");
  });

  it("tell in a namespace whether adoption has ended, and no pool or number of the cluster", async () => {
    const adopted = { status: "False", message: "3 of 4711 objects are adopted." } as const;
    await using fixture = await InspectionFixture.start({
      pools: { "secret-pool": RANGE },
      namespaces: NAMESPACES,
      adopted,
    });
    const whole = await fixture.inspector.consistency(undefined, EVERYTHING);
    expect(whole.adoption).toEqual({ ended: false, message: "MACPool secret-pool: 3 of 4711 objects are adopted." });
    for (const own of [
      await fixture.inspector.consistency(undefined, MINE),
      await fixture.inspector.consistency("mine", EVERYTHING),
    ]) {
      expect(own.adoption).toEqual({ ended: false, message: "Adoption has not ended yet." });
      expect(JSON.stringify(own)).not.toMatch(/secret-pool|4711/);
    }
  });

  it("find claims by any part of what tells them apart", async () => {
    const claims = [
      claimOf(mac(0xab), [owner("mine", "web")], { origin: "explicit" }),
      claimOf(mac(0xac), [owner("other", "db")]),
      claimOf(mac(0xad), [], { phase: "Quarantined" }),
    ];
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE }, claims });
    const found = (filter: object): readonly string[] =>
      pageOf(fixture.inspector, { limit: 10, ...filter }, EVERYTHING).items.map(({ mac: text }) => text.slice(-2));
    expect(found({ search: "WEB" })).toEqual(["ab"]);
    expect(found({ search: "other" })).toEqual(["ac"]);
    expect(found({ search: "00:AC" })).toEqual(["ac"]);
    expect(found({ search: "d1c0000" })).toEqual(["ab", "ac", "ad"]);
    expect(found({ mac: "025D.1C00.00AD" })).toEqual(["ad"]);
    expect(found({ mac: "[" })).toEqual([]);
    expect(found({ owner: "VirtualMachine/mine/web" })).toEqual(["ab"]);
    expect(found({ phase: "Quarantined" })).toEqual(["ad"]);
    expect(found({ origin: "explicit" })).toEqual(["ab"]);
    expect(found({ namespace: "mine" })).toEqual(["ab"]);
    expect(found({ namespace: "other", search: "web" })).toEqual([]);
    expect(found({ pool: "elsewhere" })).toEqual([]);
  });

  it("bind a page to its filter and its time", async () => {
    let nowMs = Date.now();
    const clock = { ...systemClock, now: () => nowMs, after: systemClock.after.bind(systemClock) };
    const claims = Array.from({ length: 5 }, (_, at) => claimOf(mac(at), [owner("mine", `vm-${at}`)]));
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE }, claims, clock: clock as never });
    const page = (filter: object) => pageOf(fixture.inspector, { limit: 2, ...filter }, EVERYTHING);
    const { continue: token } = page({});
    expect(page({ continue: token }).items.map(({ mac: text }) => text.slice(-1))).toEqual(["2", "3"]);
    expect(page({ continue: page({ continue: token }).continue })).not.toHaveProperty("continue");
    for (const foreign of [{ namespace: "mine" }, { search: "vm" }]) {
      expect(problemOf(() => page({ ...foreign, continue: token })).view).toMatchObject({
        status: 400,
        parameter: "continue",
      });
    }
    for (const made of ["x", "bnVsbA", Buffer.from("[1,2,3]").toString("base64url")]) {
      expect(problemOf(() => page({ continue: made })).view.status).toBe(400);
    }
    nowMs += 6 * 60_000;
    expect(problemOf(() => page({ continue: token })).view).toMatchObject({ status: 410, code: "MACPOOL_EXPIRED" });
  });

  it("check an address as the webhook would", async () => {
    const namespaces = { mine: {}, other: {}, left: { [VM_WEBHOOK]: "ignore" } };
    const claims = [claimOf(mac(1), [owner("mine", "web")])];
    const machines = [vmOf("mine", "web", [mac(1)]), vmOf("mine", "late", [mac(2)])];
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE }, namespaces, claims, machines });
    const check = (offset: number, namespace = "mine") =>
      views.checkViewSchema.parse(fixture.inspector.check(formatMac(mac(offset)), namespace, EVERYTHING));
    expect(check(1)).toMatchObject({ accepted: false, code: "MACPOOL_CONFLICT", holders: [{ name: "web" }] });
    expect(check(1).message).toContain("Its owner keeps it. For another VM, leave the address out");
    expect(check(1, "other").message).toContain("(a). Leave the address out");
    expect(check(2)).toMatchObject({ accepted: false, code: "MACPOOL_CONFLICT", holders: [{ name: "late" }] });
    expect(check(3)).toMatchObject({ accepted: true, pool: "default", inRange: true, holders: [] });
    expect(check(1, "left")).toMatchObject({ accepted: true, message: expect.stringContaining("does not manage") });
    expect(check(1, "nowhere")).toMatchObject({ accepted: false, code: "MACPOOL_NO_NAMESPACE" });
    expect(fixture.inspector.check("01:00:00:00:00:01", "mine", EVERYTHING)).toMatchObject({
      code: "MACPOOL_INVALID_MAC",
    });
    expect(fixture.inspector.check("02:00:00:00:00:00", "mine", EVERYTHING).message).toContain(
      "KubeVirt gives it to the",
    );
  });

  it("name nodes and their interfaces only to who may see the whole cluster", async () => {
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE }, namespaces: NAMESPACES });
    fixture.caches.index.setNode("node-a", new Map([[mac(9), "eno1"]]));
    const [whole, own] = [EVERYTHING, MINE].map((scope) => fixture.inspector.check(formatMac(mac(9)), "mine", scope));
    expect(whole).toMatchObject({ accepted: true, hostAddress: "interface eno1 of node node-a" });
    expect(whole?.message).toContain("eno1");
    expect(own).toMatchObject({ accepted: true, hostAddress: "an interface of a node" });
    expect(own?.message).toContain("is the address of an interface of a node");
    expect(JSON.stringify(own)).not.toMatch(/eno1|node-a/);
  });

  it("rest the days until a pool is full on what admission gave out, not on what was adopted", async () => {
    const clock = new ManualClock();
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE }, clock });
    for (let at = 0; at < 40; at++) {
      const origin = at % 2 === 0 ? "explicit" : "observed";
      await fixture.objects.tell("ADDED", "virtualmachines", vmOf("mine", `old-${at}`, [mac(at)]));
      await fixture.objects.tell("ADDED", "macclaims", claimOf(mac(at), [owner("mine", `old-${at}`)], { origin }));
    }
    const admitted = (number: number) => claimOf(mac(number), [owner("mine", `new-${number}`)]);
    const object = (number: number) => vmOf("mine", `new-${number}`, [mac(number)]);
    await fixture.objects.tell("ADDED", "macclaims", admitted(50));
    await fixture.objects.tell("ADDED", "virtualmachines", object(50));
    // The watch of VMs may be the faster one.
    await fixture.objects.tell("ADDED", "virtualmachines", object(51));
    await fixture.objects.tell("ADDED", "macclaims", admitted(51));
    await clock.advance(24 * 3_600_000);
    const { used, rate, daysToFull } = fixture.inspector.pool("default", true);
    expect(used).toBe(42);
    expect(rate).toMatchObject({ allocationsPerDay: 2, releasesPerDay: 0 });
    expect(daysToFull.reason).toBe("From 2 allocations and 0 releases in 24 h.");
  });

  it("say which namespaces are managed, and by which label", async () => {
    const namespaces = { default: {}, left: { [VM_WEBHOOK]: "ignore" }, "kube-system": {}, core: { runlevel: "0" } };
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE }, namespaces });
    const { items } = fixture.inspector.namespacesIn(undefined, EVERYTHING);
    expect(items.map(({ name, vms, because }) => [name, vms, because.vms])).toEqual([
      ["core", false, "label runlevel=0"],
      ["default", true, `no label ${VM_WEBHOOK}`],
      ["kube-system", false, "the namespace of the MAC pool and kube-system are never managed"],
      ["left", false, `label ${VM_WEBHOOK}=ignore`],
    ]);
    expect(problemOf(() => fixture.inspector.namespacesIn("defalt", EVERYTHING)).view.didYouMean).toBe("default");
  });

  it("say in which namespaces an object can opt out, and why", async () => {
    const pools = { default: RANGE, lax: { ...RANGE, objectOptOut: "Allow", namespaceSelector: LAX } } as const;
    const namespaces = { a: {}, b: { lax: "" }, c: { lax: "", [OBJECT_OPT_OUT_LABEL]: "claim" } };
    await using fixture = await InspectionFixture.start({ pools, namespaces });
    const { items } = fixture.inspector.namespacesIn(undefined, EVERYTHING);
    expect(items.map(({ name, objectsMayOptOut, because }) => [name, objectsMayOptOut, because.objects])).toEqual([
      ["a", false, `no label ${OBJECT_OPT_OUT_LABEL}`],
      ["b", true, "objectOptOut of MACPool lax is Allow"],
      ["c", false, `label ${OBJECT_OPT_OUT_LABEL}=claim`],
    ]);
  });

  it("find claims without an owner, owners without a claim, and what waits too long", async () => {
    const claims = [
      claimOf(mac(1), [owner("mine", "gone")]),
      claimOf(mac(2), [owner("mine", "web")]),
      claimOf(mac(3), [owner("mine", "late")]),
    ];
    const gone = vmOf("mine", "gone", [mac(1)]);
    const machines = [gone, vmOf("mine", "web", [mac(2)]), vmOf("other", "unclaimed", [mac(4)])];
    await using fixture = await InspectionFixture.start({
      pools: { default: RANGE },
      namespaces: NAMESPACES,
      claims,
      machines,
    });
    await fixture.objects.tell("DELETED", "virtualmachines", gone);
    const whole = views.consistencyViewSchema.parse(await fixture.inspector.consistency(undefined, EVERYTHING));
    const told = whole.findings.map(({ code, mac: text, owner: by }) => [code, text?.slice(-1), by?.name]);
    expect(told).toEqual([
      ["ADOPTION_RUNS", undefined, undefined],
      ["CLAIM_WITHOUT_OWNER", "1", "gone"],
      ["CLAIM_WAITS", "3", "late"],
      ["OWNER_WITHOUT_CLAIM", "4", "unclaimed"],
    ]);
    expect(whole).toMatchObject({ total: 4, leader: { identity: "one" }, replicas: [{ name: "one", answers: true }] });
    const own = await fixture.inspector.consistency(undefined, MINE);
    expect(own.findings.map(({ code }) => code)).toEqual(["CLAIM_WITHOUT_OWNER", "CLAIM_WAITS"]);
    expect(own).toMatchObject({ leader: null, replicas: [], caches: [] });
  });

  it("tell the history of a VM, the newest first", async () => {
    const ref = { kind: "VirtualMachine", namespace: "mine", name: "web" } as const;
    const vm = vmOf("mine", "web", [mac(1)]);
    const machine = { ...vm, metadata: { ...vm.metadata, creationTimestamp: "2026-01-01T00:00:01Z" } };
    const claim = claimOf(mac(1), [owner("mine", "web", { since: "2026-01-01T00:00:01.500Z" })]);
    await using fixture = await InspectionFixture.start({
      pools: { default: RANGE },
      claims: [claim],
      machines: [machine],
    });
    const before = await fixture.inspector.owner(ref, EVERYTHING);
    expect(before.history.map(({ what }) => what)).toEqual(["allocated", "created"]);
    await fixture.objects.tell("DELETED", "macclaims", claim);
    const after = views.ownerHistoryViewSchema.parse(await fixture.inspector.owner(ref, EVERYTHING));
    expect(after.history.map(({ what }) => what)).toEqual(["released", "created"]);
    expect(after.interfaces).toEqual([{ interface: "a", mac: formatMac(mac(1)), network: "multus br1-net" }]);
    await expect(fixture.inspector.owner({ ...ref, name: "wbe" }, EVERYTHING)).rejects.toThrow(
      "There is no VirtualMachine",
    );
  });
});
