import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import { conflict, full, type Refusal } from "../../src/mac-pool/claims/refusals.ts";
import {
  claimOf,
  FIRST,
  InspectionFixture,
  instanceOf,
  owner,
  vmOf,
} from "../mac-pool/inspection/inspection-fixture.ts";
import { CHROMIUM, overflow, seriousFaults, show, takePicture } from "./chromium.ts";
import { FixturePage } from "./fixture-page.ts";

const MARKUP = '<img src="x" onerror="document.title=1">';
const TENANT = (FIRST + 0x1_00_00) as Mac;
const LAB = (FIRST + 0x2_00_00) as Mac;
const SIZE = 20;

const rangeOf = (start: Mac, size: number) => ({
  start: formatMac(start),
  end: formatMac((start + size - 1) as Mac),
});

function claimsOf(pool: string, start: Mac, count: number) {
  return Array.from({ length: count }, (_, index) => {
    const claim = claimOf((start + index) as Mac, [owner(pool, `vm-${index}`)]);
    return { ...claim, spec: { ...claim.spec, pool } };
  });
}

const machinesOf = (pool: string, start: Mac, count: number) =>
  Array.from({ length: count }, (_, index) => vmOf(pool, `vm-${index}`, [(start + index) as Mac]));

/** A full pool, one that is nearly full and one that is not; two VMs with one address; a claim that nobody lists. */
function startCluster(): Promise<InspectionFixture> {
  const [twin, other] = [vmOf("shop", "web", [FIRST]), vmOf("build", "image", [FIRST])];
  return InspectionFixture.start({
    adopted: { status: "True", message: "All are adopted." },
    pools: {
      default: { ranges: [rangeOf(FIRST, 256)] },
      lab: { ranges: [rangeOf(LAB, SIZE)], namespaceSelector: { matchLabels: { pool: "lab" } } },
      "tenant-b": { ranges: [rangeOf(TENANT, SIZE)], namespaceSelector: { matchLabels: { pool: "b" } } },
    },
    namespaces: { shop: {}, build: {}, lab: { pool: "lab" }, "tenant-b": { pool: "b" } },
    machines: [twin, other, ...machinesOf("tenant-b", TENANT, SIZE), ...machinesOf("lab", LAB, SIZE - 2)],
    instances: [instanceOf(twin, "node-a"), instanceOf(other, "node-b")],
    claims: [
      claimOf(FIRST, [owner("shop", "web")]),
      claimOf((FIRST + 9) as Mac, [owner("shop", "gone")]),
      ...claimsOf("tenant-b", TENANT, SIZE),
      ...claimsOf("lab", LAB, SIZE - 2),
    ],
  });
}

const LOOKS = [
  { look: "light", options: { viewport: { width: 1280, height: 900 } } },
  { look: "dark", options: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" } },
  { look: "phone", options: { viewport: { width: 390, height: 780 } } },
  { look: "phone-dark", options: { viewport: { width: 360, height: 740 }, colorScheme: "dark" } },
] as const;

describe.skipIf(CHROMIUM === undefined)("problems in a browser", () => {
  let served: FixturePage;
  beforeAll(async () => {
    served = await FixturePage.start(await startCluster());
    const counts = { capacity: SIZE, used: SIZE, free: 0, pending: 0, quarantined: 0, hostAddresses: 0 };
    const isFull = full("tenant-b", counts as Parameters<typeof full>[1], undefined);
    refuse("tenant-b", "web-1", isFull);
    refuse("tenant-b", "web-2", isFull);
    refuse("tenant-b", "web-2", isFull);
    refuse("tenant-b", "asked", isFull, true);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
  });

  function refuse(namespace: string, name: string, refusal: Refusal, dryRun = false): void {
    const request = { namespace, name, operation: "CREATE", dryRun, object: {}, oldObject: null };
    const { denials } = served.fixture;
    denials.add("VirtualMachine", request as unknown as Parameters<typeof denials.add>[1], refusal);
  }

  it.each(LOOKS)(
    "tells the worst first, refusals by their reason, and what to do: $look",
    async ({ look, options }) => {
      await using opened = await served.open("#/problems", options);
      const { page } = opened;
      const cards = page.getByRole("main").locator(".card");
      await expect.poll(() => cards.count()).toBe(4);
      const headings = await cards.getByRole("heading").allInnerTexts();
      expect(headings[0]).toBe(`VMI shop/web and 1 more: ${formatMac(FIRST)}`);
      expect(headings[3]).toMatch(/^VM \S+ 02:/);
      const texts = await cards.allInnerTexts();
      expect(texts[2]).toMatch(/Refused:\s*VM tenant-b\/web-/);
      expect(texts[0]).toContain("VMI shop/web");
      expect(texts[0]).toContain("What to do: Stop all but one of the parties");
      expect(texts[1]).toContain("none of the 20 addresses of MACPool tenant-b is free");
      expect(texts[1]).toContain("What to do: Add a range to the pool");
      expect(texts[2]).toMatch(/2 VMs: tenant-b is full[\s\S]*3 times|3 times[\s\S]*2 VMs: tenant-b is full/);
      expect(texts[2]).toContain("tenant-b/web-1");
      expect(texts[2]).not.toContain("tenant-b/asked");
      expect(texts[3]).toContain("CLAIM_WAITS");
      expect(await page.getByRole("link", { name: "Problems 4" }).getAttribute("aria-current")).toBe("page");
      await takePicture(page, `problems-${look}`);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      expect(opened.faults).toEqual([]);
    },
  );

  it.each(LOOKS)("shows the full pool first, and healthy ones in one line each: $look", async ({ look, options }) => {
    await using opened = await served.open("#/overview", options);
    const { page } = opened;
    const pools = page.getByRole("main").locator(".pool");
    await expect.poll(() => pools.locator("h3").allInnerTexts()).toEqual(["tenant-b", "lab", "default"]);
    expect(await pools.evaluateAll((all) => all.map((one) => [one.className, one.hasAttribute("open")]))).toEqual([
      ["pool full", true],
      ["pool nearly-full", true],
      ["pool ", false],
    ]);
    await page.getByText("full now").waitFor();
    expect(await pools.nth(2).innerText()).toContain("no forecast");
    expect(await page.getByText("A forecast takes an hour of counting.").last().isVisible()).toBe(false);
    await pools.nth(2).locator("summary").click();
    await page.getByText("A forecast takes an hour of counting.").last().waitFor();
    await takePicture(page, `problems-overview-${look}`);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  it("counts an object that is refused for the same reason while the page is open", async () => {
    await using opened = await served.open("#/problems");
    const { page } = opened;
    const taken = { field: "macAddress", pendingMs: 120_000, isAwaited: false, objectsListing: [] } as const;
    const isTaken = conflict(FIRST, "net1", [owner("shop", "web")], taken);
    await page.getByText("2 VMs: tenant-b is full").waitFor();
    refuse("build", "copy-1", isTaken);
    await page.getByText(`1 VM: ${formatMac(FIRST)} is in use`).waitFor();
    refuse("build", "copy-2", isTaken);
    await page.getByText(`2 VMs: ${formatMac(FIRST)} is in use`).waitFor();
    expect(opened.faults).toEqual([]);
  });

  it("takes what a tenant writes for text", async () => {
    const refusal = { code: "MACPOOL_FULL", pool: MARKUP, message: MARKUP } as const;
    refuse("shop", MARKUP, refusal);
    await using opened = await served.open("#/problems");
    const { page } = opened;
    await page.getByRole("heading", { name: `1 VM: ${MARKUP} is full` }).waitFor();
    await show(page, "#/overview");
    await page.getByRole("link", { name: /^All \d+ problems$/ }).click();
    await page.getByRole("heading", { name: "Problems", level: 1 }).waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(await page.title()).toBe("Problems · MAC pool");
    expect(opened.faults).toEqual([]);
  });
});
