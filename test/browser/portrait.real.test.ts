import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import type { MacPoolSpec } from "../../src/api/mac-pool.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { type Clock, systemClock } from "../../src/kube/clock.ts";
import { namespaceLimit } from "../../src/mac-pool/claims/limit-refusals.ts";
import { conflict } from "../../src/mac-pool/claims/refusals.ts";
import type { DenialLog } from "../../src/mac-pool/inspection/queries/denials.ts";
import { claimOf, InspectionFixture, instanceOf, owner, vmOf } from "../mac-pool/inspection/inspection-fixture.ts";
import { Random } from "../support/random.ts";
import { CHROMIUM, printPage, takePicture } from "./chromium.ts";
import { FixturePage } from "./fixture-page.ts";

/** A pool as an administrator finds it on a Monday: a week of VMs that come and go, some refusals, one collision. */

const DAY_MS = 86_400_000;
const DAYS = 7;
const PROJECTS = ["shop", "billing", "search", "build", "mail", "archive"];
const ROLES = ["web", "db", "cache", "worker", "proxy"];
const START = 0x02_5d_1c_00_00_00;
const SIZE = 16_384;
const LAB_START = 0x02_5d_1d_00_00_00;
const LAB_SIZE = 1_024;
const LABS = 4;
const OF_LAB = 140;
const [RUNNING, CAME, WENT] = [9_400, 1_480, 890];

interface Machine {
  readonly namespace: string;
  readonly name: string;
  readonly mac: Mac;
}

/** The system's clock, some time ago. */
class EarlierClock implements Clock {
  earlierMs = DAYS * DAY_MS;
  readonly sleep = systemClock.sleep;
  readonly after = systemClock.after;
  now = (): number => systemClock.now() - this.earlierMs;
  monotonicMs = (): number => systemClock.monotonicMs() + DAYS * DAY_MS - this.earlierMs;
}

async function startPortrait(): Promise<InspectionFixture> {
  const clock = new EarlierClock();
  const random = new Random(7);
  const draw = (start: number, size: number, count: number): Mac[] => {
    const offsets = new Set<number>();
    while (offsets.size < count) offsets.add(random.below(size));
    return [...offsets].map((offset) => (start + offset) as Mac);
  };
  const named = (mac: Mac, at: number): Machine => {
    const isLab = mac >= LAB_START;
    const project = random.pick(PROJECTS);
    return { namespace: isLab ? `lab-${(at % LABS) + 1}` : project, name: `${random.pick(ROLES)}-${at}`, mac };
  };
  const all = draw(START, SIZE, RUNNING + CAME).map(named);
  const [running, coming] = [all.slice(0, RUNNING), all.slice(RUNNING)];
  const labs = draw(LAB_START, LAB_SIZE, LABS * OF_LAB).map(named);
  const legacy = { namespace: "archive", name: "legacy", mac: 0x00_50_56_00_00_2a as Mac };
  const [victim, ...others] = running as [Machine, ...Machine[]];
  const machines = [...others, ...labs, ...coming].map(({ namespace, name, mac }) => vmOf(namespace, name, [mac]));
  const twin = vmOf(victim.namespace, victim.name, [victim.mac]);
  const guest = vmOf("build", "golden-image", [victim.mac]);
  const pools: Record<string, MacPoolSpec> = {
    default: { ranges: [rangeOf(START, SIZE)], quarantineSeconds: 3_600 },
    labs: {
      ranges: [rangeOf(LAB_START, LAB_SIZE)],
      namespaceSelector: { matchLabels: { tier: "lab" } },
      conflictPolicy: "Warn",
      maxAddressesPerNamespace: OF_LAB,
    },
  };
  const harness = await InspectionFixture.start({
    clock,
    pools,
    namespaces: {
      ...Object.fromEntries(PROJECTS.map((name) => [name, {}])),
      ...Object.fromEntries([1, 2, 3, 4].map((lab) => [`lab-${lab}`, { tier: "lab" }])),
    },
    machines: [...machines, twin, vmOf(legacy.namespace, legacy.name, [legacy.mac])],
    instances: [instanceOf(twin, "node-3"), instanceOf(guest, "node-7")],
    claims: [...running, ...labs]
      .map((machine) => claimed(machine))
      .concat(claimOf(legacy.mac, [ownerOf(legacy)], { origin: "explicit" })),
  });
  const went = others.slice(0, WENT);
  for (let at = 0; at < CAME; at++) {
    clock.earlierMs = DAYS * DAY_MS * (1 - (at + 1) / CAME);
    const [come, go] = [coming[at] as Machine, went[at]];
    await harness.objects.tell("ADDED", "macclaims", claimed(come));
    if (go !== undefined) await harness.objects.tell("DELETED", "macclaims", claimed(go));
    if (go !== undefined)
      await harness.objects.tell("DELETED", "virtualmachines", vmOf(go.namespace, go.name, [go.mac]));
  }
  for (const [name, spec] of Object.entries(pools)) {
    const status = { conditions: [{ type: "Adopted", status: "True" }] };
    await harness.objects.tell("MODIFIED", "macpools", { metadata: { name, uid: name }, spec, status } as KubeObject);
  }
  refuse(harness.denials, clock, running[1] as Machine, labs[0] as Machine);
  clock.earlierMs = 0;
  return harness;
}

function refuse(log: DenialLog, clock: EarlierClock, holder: Machine, lab: Machine): void {
  const deny = (minutes: number, namespace: string, name: string, refusal: Parameters<DenialLog["add"]>[2]): void => {
    clock.earlierMs = minutes * 60_000;
    const request = { namespace, name, operation: "CREATE", dryRun: false, object: {}, oldObject: null };
    log.add("VirtualMachine", request as unknown as Parameters<DenialLog["add"]>[1], refusal);
  };
  const taken = conflict(holder.mac, "net1", [ownerOf(holder)], {
    field: "macAddress",
    pendingMs: 120_000,
    isAwaited: false,
    objectsListing: [],
  });
  deny(190, holder.namespace, `${holder.name}-restore`, taken);
  for (const minutes of [52, 51, 49]) deny(minutes, holder.namespace, `${holder.name}-copy`, taken);
  const limit = { has: OF_LAB, asked: 1, most: OF_LAB };
  deny(7, lab.namespace, "runner-17", namespaceLimit(lab.namespace, "labs", limit));
}

const ownerOf = ({ namespace, name }: Machine) => owner(namespace, name, { network: "multus br1-net" });

function claimed(machine: Machine): MACClaim {
  const claim = claimOf(machine.mac, [ownerOf(machine)]);
  return machine.mac >= LAB_START ? { ...claim, spec: { ...claim.spec, pool: "labs" } } : claim;
}

const rangeOf = (start: number, size: number) => ({
  start: formatMac(start as Mac),
  end: formatMac((start + size - 1) as Mac),
});

/** The pictures of the README are `portrait-overview` and `portrait-map` of this. */
describe.skipIf(CHROMIUM === undefined)("the page in a browser, after a week", () => {
  let served: FixturePage;
  beforeAll(async () => {
    served = await FixturePage.start(await startPortrait());
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
  });

  const open = (fragment: string, colorScheme: "light" | "dark" = "light") =>
    served.open(fragment, { viewport: { width: 1440, height: 900 }, colorScheme });

  it("tells in one look how full the pools are and when they will be, what collides and what was refused", async () => {
    await using opened = await open("#/overview");
    const { page } = opened;
    await page
      .getByText(/^full in about \d+ days$/)
      .first()
      .waitFor();
    await page.getByRole("heading", { name: "default" }).click();
    await page.getByText(/^Full in about \d+ days \(between \d+ and \d+ days\)\. From 1,480 allocations/).waitFor();
    await page.getByText("211.4 allocated, 127.1 released (counted for 7 days)").waitFor();
    await page.getByText("build/golden-image").first().waitFor();
    await page.getByText("4 times").waitFor();
    await page.getByRole("link", { name: "1 address", exact: true }).waitFor();
    await page.getByText("1 VM: namespace lab-1 has as many addresses as it may have").waitFor();
    await page.getByText("Live").waitFor();
    await page.getByRole("heading", { name: "default" }).click();
    await takePicture(page, "portrait-overview");
    await printPage(page, "portrait-overview");
    expect(opened.faults).toEqual([]);
  });

  it("draws the addresses of a pool", async () => {
    await using opened = await open("#/map/default", "dark");
    const { page } = opened;
    await page.getByText("16,384 addresses").waitFor();
    await page.getByRole("application").hover({ position: { x: 300, y: 100 } });
    await page
      .getByText(/\d of \d+ used/)
      .first()
      .waitFor();
    await takePicture(page, "portrait-map");
    expect(opened.faults).toEqual([]);
  });
});
