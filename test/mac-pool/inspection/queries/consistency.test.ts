import { expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../../src/api/names.ts";
import { systemClock } from "../../../../src/kube/clock.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";
import { claimOf, FIRST, InspectionFixture, owner } from "../inspection-fixture.ts";

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
  await using fixture = await InspectionFixture.start({ namespaces, claims, clock });
  const findingsIn = async (namespace: string) => (await fixture.inspector.consistency(namespace, ALL)).findings;
  const first = [];
  for (const name of names) first.push(await findingsIn(name));
  expect(first.map(({ length }) => length)).toEqual(names.map(() => FINDINGS));
  // The same objects: nobody has looked again.
  expect((await findingsIn("tenant-14"))[0]).toBe(first[14]?.[0]);
  expect((await findingsIn("tenant-0"))[0]).not.toBe(first[0]?.[0]);
});

it("calls a claim overdue when a leader that began to count late is overdue, and says for how long", async () => {
  const clock = new ManualClock();
  const pools = { default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] } };
  const mac = (offset: number): Mac => (FIRST + offset) as Mac;
  const due = (seconds: number): string => new Date(clock.now() - seconds * 1000).toISOString();
  const quarantines = (number: number, seconds: number) => {
    const claim = claimOf(mac(number), [], { phase: "Quarantined" });
    return { ...claim, status: { ...claim.status, until: due(seconds) } } as typeof claim;
  };
  const waits = (number: number, seconds: number) => {
    const since = due(seconds + 120);
    return claimOf(mac(number), [owner("mine", `late-${number}`, { since })]);
  };
  const claims = [quarantines(1, 119), quarantines(2, 121), waits(3, 179), waits(4, 181)];
  await using fixture = await InspectionFixture.start({ pools, claims, clock });
  const { findings } = await fixture.inspector.consistency(undefined, ALL);
  expect(findings.filter(({ mac: about }) => about !== undefined)).toMatchObject([
    { code: "QUARANTINE_OVERDUE", mac: formatMac(mac(2)), since: due(121) },
    { code: "CLAIM_WAITS", mac: formatMac(mac(4)), since: due(181) },
  ]);
});

it("takes a claim for no leftover while multus says that its pod has the address", async () => {
  const mac = (offset: number): Mac => (FIRST + offset) as Mac;
  const claims = [1, 2].map((number) =>
    claimOf(mac(number), [owner("mine", "web", { kind: "Pod", interface: "net1" })]),
  );
  const pod = (attached: readonly Mac[]) => ({
    metadata: {
      ...{ namespace: "mine", name: "web", uid: "web" },
      annotations: {
        [NETWORKS_ANNOTATION]: "other",
        [NETWORK_STATUS_ANNOTATION]: JSON.stringify(attached.map((each) => ({ name: "n", mac: formatMac(each) }))),
      },
    },
  });
  await using fixture = await InspectionFixture.start({ claims, pods: [pod([mac(1), mac(2)])] });
  const found = async () =>
    (await fixture.inspector.consistency(undefined, ALL)).findings
      .filter(({ mac: about }) => about !== undefined)
      .map(({ code, mac: about }) => [code, about]);
  expect(await found()).toEqual([]);
  expect([1, 2].filter((number) => fixture.caches.index.pending.has(mac(number)))).toEqual([]);
  await fixture.objects.tell("MODIFIED", "pods", pod([mac(2)]));
  const isAttached = (number: number, name: string): boolean =>
    fixture.caches.isAttached(mac(number), { kind: "Pod", namespace: "mine", name });
  expect([isAttached(1, "web"), isAttached(2, "web"), isAttached(2, "other")]).toEqual([false, true, false]);
});
