import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import { claimOf, FIRST, InspectionFixture, owner } from "../mac-pool/inspection/inspection-fixture.ts";
import { manyClaims, manyMacs, refuseMany } from "../mac-pool/inspection/queries/many-claims.ts";
import { CHROMIUM, overflow, printPage, show, takePicture } from "./chromium.ts";
import { FixturePage } from "./fixture-page.ts";

const CLAIMS = 100_000;
/** What a browser lays out without a delay that somebody notices. */
const MOST_ELEMENTS = 3_000;
/** Those in sight in a tall window, and a margin. */
const MOST_ROWS = 110;

const MACS = manyMacs(CLAIMS);
const IN_USE = formatMac(MACS[1] as Mac);

const VIEWS = [
  { fragment: "#/overview", title: "Overview", text: "100,000 of 16,777,216 used" },
  { fragment: "#/networks", title: "Networks", text: "There is no network." },
  { fragment: "#/addresses", title: "Addresses", text: "100,000 addresses" },
  { fragment: `#/address/${IN_USE}`, title: "Addresses", text: "MACClaim" },
  { fragment: "#/map", title: "Map", text: "cells in use" },
  { fragment: "#/problems", title: "Problems", text: "tenant-0/vm-0-twin" },
  { fragment: "#/collisions", title: "Collisions", text: "tenant-0/vm-0-twin" },
  { fragment: "#/refusals", title: "Refusals", text: "100 of 1,000 are shown." },
  { fragment: "#/consistency", title: "Consistency", text: "Leader" },
  { fragment: "#/namespaces", title: "Namespaces", text: "tenant-99" },
  { fragment: `#/check?mac=${IN_USE}&namespace=tenant-1`, title: "Check an address", text: "It would be refused" },
  { fragment: "#/owner/VirtualMachine/tenant-0/vm-0", title: "VM tenant-0/vm-0", text: IN_USE },
] as const;

const LOOKS = [
  { look: "light", options: { viewport: { width: 1440, height: 900 } } },
  { look: "phone", options: { viewport: { width: 360, height: 740 } } },
  { look: "4k", options: { viewport: { width: 3840, height: 2160 } } },
] as const;

describe.skipIf(CHROMIUM === undefined)("the page in a browser, with 100,000 claims", () => {
  let served: FixturePage;
  beforeAll(async () => {
    served = await FixturePage.start(await InspectionFixture.start(manyClaims(MACS)));
    refuseMany(served.fixture.denials, MACS);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
  });

  const list = (page: Page) => page.getByRole("region", { name: "Addresses" });
  const rows = (page: Page) => list(page).locator("tbody tr:not(.gap)");
  const total = (page: Page, text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();

  it.each(LOOKS)("opens each view with few elements, no wider than the window: $look", async ({ look, options }) => {
    await using opened = await served.open("#/overview", options);
    const { page } = opened;
    for (const { fragment, title, text } of VIEWS) {
      await show(page, fragment);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await page.getByText(text).first().waitFor();
      await takePicture(page, `many-${look}-${fragment.split("/")[1]?.split("?")[0]}`);
      const elements = (await page.evaluate("document.getElementsByTagName('*').length")) as number;
      expect({ fragment, elements, isSmall: elements < MOST_ELEMENTS }).toMatchObject({ fragment, isSmall: true });
      expect({ fragment, tooWide: await overflow(page) }).toEqual({ fragment, tooWide: 0 });
    }
    expect(opened.faults).toEqual([]);
  });

  it("scrolls to the last address and draws only the rows in sight on the way", async () => {
    await using opened = await served.open("#/addresses");
    const { page } = opened;
    await total(page, "100,000 addresses");
    const most = (await page.evaluate(`new Promise((resolve) => {
      const frame = document.querySelector(".virtual");
      let most = 0;
      const scroll = () => {
        most = Math.max(most, frame.querySelectorAll("tbody tr:not(.gap)").length);
        if (frame.querySelector('[aria-rowindex="${CLAIMS + 1}"]') !== null) resolve(most);
        else requestAnimationFrame(scroll);
        frame.scrollTop = frame.scrollHeight;
      };
      scroll();
    })`)) as number;
    expect(await rows(page).last().textContent()).toContain(formatMac(MACS.at(-1) as Mac));
    expect(most).toBeGreaterThan(20);
    expect(most).toBeLessThan(MOST_ROWS);
    await takePicture(page, "many-light-addresses-end");
  });

  it("searches all of them as somebody types", async () => {
    await using opened = await served.open("#/overview");
    const { page } = opened;
    const search = page.getByRole("searchbox", { name: "Search a MAC, VM, pod or namespace" });
    await search.pressSequentially("vm-4321");
    await total(page, "22 addresses");
    await expect.poll(() => rows(page).first().textContent()).toContain("vm-4321");
    await search.fill(formatMac(MACS[77_777] as Mac).replaceAll(":", "-"));
    await total(page, "1 address");
    await search.fill("0");
    await total(page, "100,000 addresses");
    expect(await rows(page).count()).toBeLessThan(MOST_ROWS);
  });

  it("shows a claim that comes, without a reload", async () => {
    await using opened = await served.open("#/addresses");
    const { page } = opened;
    await total(page, "100,000 addresses");
    const between = MACS.findIndex((mac, at) => (MACS[at + 1] ?? 0) - mac > 1);
    const mac = ((MACS[between] ?? FIRST) + 1) as Mac;
    await served.fixture.objects.tell("ADDED", "macclaims", claimOf(mac, [owner("tenant-7", "late")]));
    await total(page, "100,001 addresses");
    await page.getByRole("link", { name: "tenant-7/late" }).waitFor();
    await served.fixture.objects.tell("DELETED", "macclaims", claimOf(mac, []));
    await total(page, "100,000 addresses");
  });

  it("prints the rows that were read, says how many there are, and no blank paper", async () => {
    await using opened = await served.open("#/addresses");
    const { page } = opened;
    await total(page, "100,000 addresses");
    await page.evaluate(`matchMedia("print").addEventListener("change", ({ matches }) => {
      if (matches) globalThis.printed = {
        rows: document.querySelectorAll(".virtual tbody tr:not(.gap)").length,
        note: document.querySelector(".printed")?.textContent,
      };
    })`);
    const file = await printPage(page, "many-addresses");
    expect(await page.evaluate("printed")).toEqual({
      rows: 200,
      note: "200 of 100,000 rows. Save as CSV for all of them.",
    });
    const sheets = file.toString("latin1").match(/\/Type \/Page\b/g)?.length;
    expect(sheets).toBeGreaterThan(2);
    expect(sheets).toBeLessThan(12);
    await expect.poll(() => rows(page).count()).toBeLessThan(MOST_ROWS);
  });

  it("shows more of a long list to those who ask", async () => {
    await using opened = await served.open("#/refusals");
    const { page } = opened;
    const cards = page.getByRole("main").locator(".card");
    await expect.poll(() => cards.count()).toBe(100);
    await page.getByRole("button", { name: "Show 100 more" }).click();
    await page.getByText("200 of 1,000 are shown.").waitFor();
    expect(await cards.count()).toBe(200);
  });
});
