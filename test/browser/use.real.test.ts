import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHROMIUM, seriousFaults, show, takePicture } from "./chromium.ts";
import { PageHarness } from "./page-harness.ts";

const CHOOSE_TWO_AT_ONCE = `["Bound", "automatic"].forEach((value, index) =>
  Object.assign(document.querySelectorAll(".filters select")[index], { value })
    .dispatchEvent(new Event("change", { bubbles: true })))`;
const MARKUP = '<img src="x" onerror="document.title=1">';
const RELEASED = "02:5d:1c:00:00:a3";

describe.skipIf(CHROMIUM === undefined)("the page in a browser, in use", () => {
  let harness: PageHarness;
  let token: string;
  beforeAll(async () => {
    harness = await PageHarness.start();
    token = await harness.reader("viewer");
    await harness.fill();
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  const rows = (page: Page) => page.getByRole("region", { name: "Addresses" }).locator("tbody tr:not(.gap)");
  const focusedText = (page: Page) => page.evaluate("document.activeElement.textContent.trim()");

  it("finds addresses by VM, by a part of the address and by namespace, as one types", async () => {
    await using opened = await harness.openAs(token);
    const { page } = opened;
    const search = page.getByRole("searchbox", { name: "Search a MAC, VM, pod or namespace" });
    await search.pressSequentially("web-3");
    await expect.poll(() => rows(page).count()).toBe(2);
    await search.fill("02-00-00");
    await expect.poll(() => rows(page).count()).toBe(1);
    await expect.poll(() => rows(page).first().textContent()).toContain("default/legacy");
    // The released address has no owner any more.
    await search.fill("default");
    await expect.poll(() => rows(page).count()).toBe(11);
    await search.fill("02:5d:1c:77:77:77");
    await page.getByRole("link", { name: "Would 02:5d:1c:77:77:77 be accepted?" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  it("filters addresses by pool, namespace and network, under a permalink", async () => {
    await using opened = await harness.openAs(token, "#/addresses");
    const { page } = opened;
    await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
    const all = await rows(page).count();
    const choose = async (label: string, name: string): Promise<void> => {
      await page.getByLabel(label, { exact: true }).fill(name);
      await page.getByLabel(label, { exact: true }).press("Enter");
    };
    const network = page.getByLabel("Network", { exact: true });
    await network.fill("default/now");
    // As somebody who types slowly: the page is drawn anew meanwhile.
    for (let refresh = 0; refresh < 2; refresh++) await page.waitForResponse(/\/claims\?/);
    await network.pressSequentially("here");
    expect(await network.inputValue()).toBe("default/nowhere");
    await network.press("Enter");
    await page.getByText("No address matches.").waitFor();
    await choose("Network", "default/br1-net");
    await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
    await choose("Pool", "nobody");
    await page.getByText("No address matches.").waitFor();
    await choose("Pool", "default");
    await expect.poll(() => rows(page).count()).toBeGreaterThan(10);
    await choose("Namespace", "elsewhere");
    await page.getByText("No address matches.").waitFor();
    expect(await page.evaluate("location.hash")).toBe(
      "#/addresses?network=default%2Fbr1-net&pool=default&namespace=elsewhere",
    );
    await show(page, "#/addresses");
    await expect.poll(() => rows(page).count()).toBe(all);
    expect(await page.getByLabel("Network", { exact: true }).inputValue()).toBe("");
    await page.getByLabel("Group by owner").check();
    const owners = (): Promise<string[]> => rows(page).locator(".owner").allInnerTexts();
    await expect.poll(async () => (await owners()).join()).toBe((await owners()).toSorted().join());
    expect(await page.evaluate("location.hash")).toBe("#/addresses?group=owner");
    await takePicture(page, "addresses-grouped");
    await page.evaluate(CHOOSE_TWO_AT_ONCE);
    await expect
      .poll(() => page.evaluate("location.hash"))
      .toBe("#/addresses?group=owner&phase=Bound&origin=automatic");
    expect(opened.faults).toEqual([]);
  });

  it("leads from a pool to its addresses outside the ranges, as many as it says", async () => {
    await using opened = await harness.openAs(token);
    const { page } = opened;
    await page.getByRole("heading", { name: "default" }).click();
    await page.getByRole("link", { name: "1 address", exact: true }).click();
    await page.getByRole("button", { name: "outside the ranges of pool default" }).waitFor();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await rows(page).first().textContent()).toContain("default/legacy");
  });

  it("shows an address with its owner and history under a permalink, and copies both", async () => {
    const options = { permissions: ["clipboard-read", "clipboard-write"] };
    await using opened = await harness.openAs(token, "#/address/02:00:00:00:00:01", options);
    const { page } = opened;
    const panel = page.getByRole("complementary", { name: "Address 02:00:00:00:00:01" });
    await panel.getByRole("link", { name: "default/legacy" }).waitFor();
    await panel.getByText("allocated").first().waitFor();
    await panel.getByRole("button", { name: "Copy address" }).click();
    await panel.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("02:00:00:00:00:01");
    await takePicture(page, "filled-light-address");
    await panel.getByRole("link", { name: "default/legacy" }).click();
    await page.getByRole("heading", { name: "VM default/legacy" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  it("needs no mouse", async () => {
    await using opened = await harness.openAs(token);
    const { page } = opened;
    await page.getByText("Live").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("web-2");
    await expect.poll(() => rows(page).count()).toBe(2);
    const first = await rows(page).nth(0).getByRole("link").first().textContent();
    const second = await rows(page).nth(1).getByRole("link").first().textContent();
    for (let presses = 0; presses < 30 && (await focusedText(page)) !== first; presses++)
      await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => focusedText(page)).toBe(second);
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: `Address ${second}` }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("complementary").count()).toBe(0);
  });

  it("closes an address by Escape from the moment it is there", async () => {
    await using opened = await harness.openAs(token, "#/overview");
    const { page } = opened;
    await page.getByText("Live").waitFor();
    // As the earliest press of a key: the element is in the document, nothing has been painted yet.
    await page.evaluate(`new MutationObserver((_, observer) => {
      if (document.querySelector("aside") === null) return;
      observer.disconnect();
      dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await show(page, "#/address/02:00:00:00:00:01");
    await expect.poll(() => page.evaluate("location.hash")).toBe("#/addresses");
    await expect.poll(() => page.getByRole("complementary").count()).toBe(0);
  });

  it("zooms into the map down to one address and out again, by keys and by mouse", async () => {
    await using opened = await harness.openAs(token, "#/map/default");
    const { page } = opened;
    const map = page.getByRole("application");
    await page.getByText("16,777,216 addresses").waitFor();
    await map.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("location.hash")).toContain("from=");
    await page.getByText("one a cell").waitFor();
    await takePicture(page, "filled-light-map-single");
    const inTable = page.getByText("The map as a table");
    await inTable.click();
    await page
      .getByRole("row", { name: new RegExp(`${RELEASED} quarantined`) })
      .getByRole("button")
      .click();
    await page.getByRole("complementary", { name: `Address ${RELEASED}` }).waitFor();
    await page.goBack();
    await map.focus();
    await page.keyboard.press("-");
    await expect.poll(() => page.evaluate("location.hash")).not.toContain("02%3A5d%3A1c%3A00%3A0f%3Aff");
    await page.keyboard.press("0");
    await page.getByText("16,777,216 addresses").waitFor();
    await map.click({ position: { x: 4, y: 4 } });
    await page.getByText("one a cell").waitFor();
    await page.mouse.wheel(0, 100);
    await page.getByText("one a cell").waitFor({ state: "detached" });
    expect(opened.faults).toEqual([]);
  });

  it.each(["light", "dark"] as const)("tells the addresses of nodes from free ones in the map: %s", async (scheme) => {
    const [own, before] = scheme === "light" ? ["02:5d:1c:00:00:b1", 0] : ["02:5d:1c:00:00:b4", 1];
    const theirs = scheme === "light" ? "02:5d:1c:00:00:b2" : "02:5d:1c:00:00:b5";
    const station = {
      mac: theirs,
      bridge: "br1",
      uplink: "eno2",
      lastSeen: new Date().toISOString().replace(/\.\d+/, ""),
    };
    await harness.reportNode(`node-${scheme}`, [own, RELEASED], [], [station]);
    const part = "?from=02%3A5d%3A1c%3A00%3A00%3A00&to=02%3A5d%3A1c%3A00%3A00%3Aff";
    await using opened = await harness.openAs(token, `#/map/default${part}`, { colorScheme: scheme });
    const { page } = opened;
    await page.getByText("one a cell").waitFor();
    await page.getByText("The map as a table").click();
    const row = page.getByRole("row", { name: `${own} a node's own, kept back` });
    await row.waitFor();
    await page.getByRole("row", { name: `${RELEASED} quarantined` }).waitFor();
    await page.getByRole("row", { name: `${theirs} of a station outside the cluster, kept back` }).waitFor();
    await page.getByRole("application").focus();
    await takePicture(page, `filled-${scheme}-map-nodes`);
    await row.getByRole("button").click();
    await page.getByText(`interface eno0 of node node-${scheme}`).first().waitFor();
    await show(page, "#/overview");
    await page
      .getByText(`${before + 1} nodes' own, ${before + 1} of stations outside the cluster, kept back`)
      .waitFor();
    await page.getByText("of this range").waitFor();
    await takePicture(page, `filled-${scheme}-overview-nodes`);
    await show(page, "#/map/default");
    await page.getByText("16,777,216 addresses").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  it.each(["light", "dark"] as const)(
    "shows an address that a VM and a node have wherever it is: %s",
    async (scheme) => {
      const mac = scheme === "light" ? "52:54:00:00:00:c1" : "52:54:00:00:00:c2";
      const node = `host-${scheme}`;
      await harness.createMachine(`on-${node}`, [{ name: "net1", macAddress: mac }]);
      await harness.reportNode(node, [mac]);
      const also = `${mac} is also the address of interface eno0 of node ${node}.`;
      await using opened = await harness.openAs(token, "#/overview", { colorScheme: scheme });
      const { page } = opened;
      await page.getByText("HOST_CONFLICT").first().waitFor();
      await page.getByText(also).first().waitFor();
      await page.getByText("Of an object and of a node").waitFor();
      await takePicture(page, `filled-${scheme}-overview-host-conflict`);
      expect(await seriousFaults(page)).toEqual([]);
      for (const [what, fragment] of [
        ["address", `#/address/${mac}`],
        ["owner", `#/owner/VirtualMachine/default/on-${node}`],
      ] as const) {
        await show(page, fragment);
        await page.getByRole("alert").filter({ hasText: also }).waitFor();
        await takePicture(page, `filled-${scheme}-${what}-host-conflict`);
        expect(await seriousFaults(page)).toEqual([]);
      }
      expect(opened.faults).toEqual([]);
    },
  );

  it("saves everything that matches as CSV and as JSON", async () => {
    await using opened = await harness.openAs(token, "#/addresses?search=web");
    const { page } = opened;
    const save = async (button: string): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: button }).click(),
      ]);
      return readFile(await download.path(), "utf8");
    };
    const lines = (await save("Save as CSV")).trim().split("\r\n");
    expect(lines).toHaveLength(11);
    expect(lines[0]).toMatch(/^mac,phase,origin,pool,range,kind,namespace,name,/);
    expect(JSON.parse(await save("Save as JSON"))).toHaveLength(10);
  });

  it("prints in ink that paper needs, without its controls", async () => {
    await using opened = await harness.openAs(token, "#/addresses", { colorScheme: "dark" });
    const { page } = opened;
    await expect.poll(() => rows(page).count()).toBe(14);
    await page.emulateMedia({ media: "print" });
    expect(await page.getByRole("navigation").isVisible()).toBe(false);
    expect(await page.getByRole("button", { name: "Save as CSV" }).isVisible()).toBe(false);
    expect(await rows(page).count()).toBe(14);
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("light");
    await takePicture(page, "filled-print-addresses");
  });

  it("shows text of tenants as text, whatever is in it", async () => {
    await harness.refuse(`sly`, MARKUP);
    await using opened = await harness.openAs(token, "#/refusals");
    const { page } = opened;
    await page.getByText("<img src=").first().waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    await show(page, `#/owner/VirtualMachine/default/${encodeURIComponent(MARKUP)}`);
    await page.getByRole("heading", { name: MARKUP }).waitFor();
    await show(page, `#/addresses?search=${encodeURIComponent(MARKUP)}`);
    await page.getByText("No address matches.").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(await page.title()).toBe("Addresses · MAC pool");
    expect(opened.faults).toEqual([]);
  });

  it("makes no markup of text even where a script tries to", async () => {
    await using opened = await harness.openAs(token);
    const tried = `try { document.body.innerHTML = ${JSON.stringify(MARKUP)}; "made" } catch (error) { error.name }`;
    expect(await opened.page.evaluate(tried)).toBe("TypeError");
  });
});
