import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import {
  claimOf,
  FIRST,
  InspectionFixture,
  instanceOf,
  owner,
  vmOf,
} from "../mac-pool/inspection/inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, reportOf } from "../mac-pool/inspection/networks.ts";
import { CHROMIUM, overflow, seriousFaults, show, takePicture } from "./chromium.ts";
import { FixturePage } from "./fixture-page.ts";

const RELEASED = (FIRST + 1) as Mac;
const OWNER = ["tenant-development", "database-1"] as const;
const macOf = (index: number): Mac => (FIRST + 0x10 + index) as Mac;

/** Two VMs with one address, one that has two, 40 more, and an address that was released. */
function startCluster(): Promise<InspectionFixture> {
  const [twin, other] = [vmOf("shop", "web", [FIRST]), vmOf("build", "image", [FIRST])];
  const many = Array.from({ length: 40 }, (_, index) => index);
  const network = { network: "multus default/br1-net" };
  return InspectionFixture.start({
    adopted: { status: "True", message: "All are adopted." },
    pools: { default: { ranges: [{ start: formatMac(FIRST), end: formatMac((FIRST + 0xff) as Mac) }] } },
    namespaces: { shop: {}, build: {}, "tenant-development": {}, default: {} },
    machines: [
      twin,
      other,
      vmOf(...OWNER, [macOf(0), macOf(1)]),
      ...many.map((index) => vmOf("shop", `vm-${index}`, [macOf(2 + index)])),
    ],
    instances: [
      instanceOf(twin, "node-a"),
      instanceOf(other, "node-b"),
      guestOf("shop", "guest", ["default/br1-net"], "node-a"),
    ],
    claims: [
      claimOf(FIRST, [owner("shop", "web")]),
      claimOf(RELEASED, [], { phase: "Quarantined" }),
      ...[0, 1].map((index) =>
        claimOf(macOf(index), [owner(...OWNER, { ...network, interface: ["a", "b"][index] as string })], {
          origin: "explicit",
        }),
      ),
      ...many.map((index) => claimOf(macOf(2 + index), [owner("shop", `vm-${index}`, network)])),
    ],
    nads: [nadOf("default", "br1-net"), nadOf("default", "vlan100", { config: { vlan: 100 } })],
    nodeMacs: ["node-a", "node-b"].map((node) => reportOf(node, [bridgeOf("br1", { vlanFiltering: false })])),
  });
}

const VIEWS = {
  overview: "",
  networks: "",
  network: "/default/br1-net",
  addresses: "",
  address: `/${formatMac(macOf(0))}`,
  map: "/default",
  problems: "",
  collisions: "",
  consistency: "",
  refusals: "",
  namespaces: "",
  check: "",
  owner: `/VirtualMachine/${OWNER.join("/")}`,
};

/** What has to be scrolled to the side to be read, or is cut at its end. */
const CUT = `[...document.querySelectorAll("body *")]
  .filter((element) => element.scrollWidth > element.clientWidth && getComputedStyle(element).overflowX !== "visible")
  .filter((element) => element.checkVisibility() && !element.matches(".unseen, input, canvas"))
  .map((element) => element.tagName.toLowerCase() + " " + element.textContent.trim().slice(0, 60))`;

describe.skipIf(CHROMIUM === undefined)("the page on a phone", () => {
  let served: FixturePage;
  beforeAll(async () => {
    served = await FixturePage.start(await startCluster());
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
  });

  const open = (colorScheme: "light" | "dark") =>
    served.open("#/check", { viewport: { width: 390, height: 844 }, colorScheme });
  const rows = (page: Page) => page.getByRole("region", { name: "Addresses" }).locator("tbody tr:not(.gap)");

  it.each(["light", "dark"] as const)("cuts nothing, whatever the view: %s", async (scheme) => {
    await using opened = await open(scheme);
    const { page } = opened;
    await page.getByText("Live").waitFor();
    const found: Record<string, unknown> = {};
    for (const [view, args] of Object.entries(VIEWS)) {
      await show(page, `#/${view}${args}`);
      await page.getByText("Asking the pool.").waitFor({ state: "detached" });
      await takePicture(page, `phone-${scheme}-${view}`);
      const faults = [...((await page.evaluate(CUT)) as string[]), ...(await seriousFaults(page))];
      const tooWide = await overflow(page);
      if (faults.length + tooWide > 0) found[view] = { faults, tooWide };
    }
    expect(found).toEqual({});
    expect(opened.faults).toEqual([]);
  });

  it("shows how many problems there are from every view", async () => {
    await using opened = await open("light");
    const { page } = opened;
    const tab = page.getByRole("navigation").getByRole("link", { name: /^Problems 2$/ });
    await tab.waitFor();
    for (const view of ["check", "overview"]) {
      await show(page, `#/${view}`);
      const box = await tab.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    }
  });

  it("says where an address is: on which network, bridge and node", async () => {
    await using opened = await open("light");
    const { page } = opened;
    await show(page, "#/addresses");
    const row = rows(page).filter({ hasText: OWNER[1] }).first();
    const [network, address] = [row.getByText("multus default/br1-net"), row.getByRole("link").first()];
    await network.waitFor();
    expect(await network.textContent()).toContain("br1");
    const [box, above] = [await network.boundingBox(), await address.boundingBox()];
    expect(box?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0));
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    const node = row.locator(".place").last();
    expect((await node.boundingBox())?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0));
  });

  it("writes the phase of an address in words, and the whole name of its owner", async () => {
    await using opened = await open("light");
    const { page } = opened;
    await show(page, "#/addresses");
    const phase = rows(page)
      .filter({ hasText: formatMac(RELEASED) })
      .getByText("Quarantined");
    await phase.waitFor();
    expect((await phase.boundingBox())?.width).toBeGreaterThan(50);
    // Half of the rows are drawn at most: those in sight, and some before and behind them.
    expect(await rows(page).count()).toBeLessThan(43);
    await rows(page).first().getByRole("link").first().focus();
    await expect
      .poll(async () => {
        await page.keyboard.press("PageDown");
        return page.evaluate("document.activeElement.textContent.trim()");
      })
      .toBe(formatMac(macOf(41)));
    const last = rows(page).last();
    const [row, frame] = [
      await last.boundingBox(),
      await page.getByRole("region", { name: "Addresses" }).boundingBox(),
    ];
    expect(row?.height).toBe((await rows(page).nth(-2).boundingBox())?.height);
    expect((row?.y ?? 0) + (row?.height ?? 0)).toBeLessThanOrEqual((frame?.y ?? 0) + (frame?.height ?? 0));
  });
});
