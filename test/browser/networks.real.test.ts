import { readFile } from "node:fs/promises";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatMac } from "../../src/api/mac.ts";
import {
  claimOf,
  FIRST,
  InspectionFixture,
  type InspectionFixtureOptions,
  owner,
} from "../mac-pool/inspection/inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, rawNad, reportOf } from "../mac-pool/inspection/networks.ts";
import { shareOf } from "../support/share.ts";
import { CHROMIUM, overflow, seriousFaults, takePicture } from "./chromium.ts";
import { FixturePage } from "./fixture-page.ts";

const nodeName = (index: number): string => `node-${String(index).padStart(3, "0")}`;
const UPLINK = { name: "eth1", carrier: true, mtu: 1500 };

/** Two of five nodes have br1; one node does not filter its VLANs, another has no wire. */
function clusterOf(nodes: number, networks: number): InspectionFixtureOptions {
  const names = Array.from({ length: nodes }, (_, index) => nodeName(index));
  const nodeMacs = names.map((node, index) => {
    const br1 = bridgeOf("br1", { vlanFiltering: index !== 0, uplinks: [{ ...UPLINK, carrier: index !== 1 }] });
    return reportOf(node, [
      ...(index % 5 < 2 ? [br1] : []),
      ...(index % 3 === 1 ? [bridgeOf("br2", { mtu: 9000 })] : []),
    ]);
  });
  const many = Array.from({ length: networks - 5 }, (_, index) =>
    nadOf(`tenant-${index % 20}`, `vlan${100 + index}`, { config: { vlan: 100 + index } }),
  );
  return {
    nodeMacs,
    nads: [
      nadOf("default", "br1-net"),
      nadOf("tenant-lab", "noann", { resource: null }),
      nadOf("tenant-lab", "trunk", { config: { vlanTrunk: [{ minID: 100, maxID: 110 }, { id: 200 }] } }),
      nadOf("tenant-lab", "br9", { bridge: "br9" }),
      rawNad("tenant-lab", "ovs", JSON.stringify({ type: "ovs", bridge: "br1" })),
      ...many,
    ],
    instances: [
      guestOf("tenant-0", "web", ["default/br1-net", "vlan100"], nodeName(0)),
      guestOf("tenant-1", "db", ["default/br1-net"], nodeName(1)),
      guestOf("tenant-lab", "nobridge", ["br9"]),
    ],
  };
}

const LOOKS = [
  { look: "light", options: { viewport: { width: 1280, height: 900 } } },
  { look: "dark", options: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" } },
  { look: "phone", options: { viewport: { width: 360, height: 740 } } },
  { look: "phone-dark", options: { viewport: { width: 360, height: 740 }, colorScheme: "dark" } },
] as const;

/** Of both answers, as a refresh reads them. */
const MAX_BYTES = 200_000;
const MAX_ELEMENTS = 3_000;
const BYTES = `performance.getEntriesByType("resource")
  .filter(({ name }) => /v1\\/(networks|bridges)/.test(name))
  .slice(0, 2)
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

describe.skipIf(CHROMIUM === undefined)("networks in a browser", () => {
  describe.each([
    { nodes: 3, networks: 9, told: "node-000 (1 running VM)" },
    { nodes: 16, networks: 12, told: "node-000 (1 running VM)" },
    { nodes: 50, networks: 60, told: "on 20 of 50 nodes" },
    { nodes: 1_000, networks: 500, told: "on 400 of 1,000 nodes" },
  ])("of $nodes nodes", ({ nodes, networks, told }) => {
    let served: FixturePage;
    beforeAll(async () => {
      served = await FixturePage.start(await InspectionFixture.start(clusterOf(nodes, networks)));
    });
    afterAll(async () => {
      await served?.[Symbol.asyncDispose]();
    });

    const open = (options?: BrowserContextOptions) => served.open("#/networks", options);
    const row = (page: Page, name: string) =>
      page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    const cellsOf = async (page: Page, name: string) =>
      (await row(page, name).getByRole("cell").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());

    it.each(shareOf(LOOKS))("are told in few bytes and elements: $look", async ({ look, options }) => {
      await using opened = await open(options);
      const { page } = opened;
      await page.getByText("default/br1-net").first().waitFor();
      const isPhone = look.startsWith("phone");
      expect(await page.getByRole("table").count()).toBe(isPhone ? 0 : 1);
      if (isPhone || nodes > 16) await page.getByText(told).first().waitFor();
      await takePicture(page, `networks-${nodes}-${look}`);
      expect(await page.evaluate(BYTES)).toBeGreaterThan(1_000);
      expect(await page.evaluate(BYTES)).toBeLessThan(MAX_BYTES);
      expect(await page.evaluate("document.getElementsByTagName('*').length")).toBeLessThan(MAX_ELEMENTS);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      expect(opened.faults).toEqual([]);
    });

    it("say what runs where, could start there, and is wrong", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.getByText("default/br1-net").first().waitFor();
      const [vlan, mtu, , ...rest] = await cellsOf(page, "tenant-0/vlan100");
      expect([vlan, mtu]).toEqual(["100", "inherit"]);
      expect(rest.at(-1)).toContain("bridge filters no VLANs");
      if (nodes === 3)
        expect(rest.slice(0, -1)).toEqual(["tenant-0", "1 starts with a warning", "0 starts", "no bridge"]);
      if (nodes > 16) {
        expect(rest[0]).toBe("1");
        expect(rest[1]).toContain("warning on node-000 (1 running VM)");
      }
      const summary = row(page, "tenant-0/vlan100").getByText("bridge filters no VLANs");
      const message = row(page, "tenant-0/vlan100").getByText("does not filter");
      expect(await message.isVisible()).toBe(false);
      await summary.focus();
      await page.keyboard.press("Enter");
      await message.waitFor();
    });

    it.each(shareOf(LOOKS))("are told one by one, with all nodes and who uses it: $look", async ({ look, options }) => {
      await using opened = await open(options);
      const { page } = opened;
      await page.getByRole("link", { name: "default/br1-net" }).click();
      await page.getByRole("heading", { name: "default/br1-net" }).waitFor();
      const users = page.getByRole("region", { name: "Users" }).getByRole("row");
      await expect
        .poll(() => users.allInnerTexts())
        .toEqual([
          "VM or pod\tState\tNode",
          `VMI tenant-0/web\truns\t${nodeName(0)}`,
          `VMI tenant-1/db\truns\t${nodeName(1)}`,
        ]);
      await takePicture(page, `network-${nodes}-${look}`);
      const cells = page.getByRole("region", { name: "Nodes" }).getByRole("row");
      expect(await cells.count()).toBe(1 + Math.min(nodes, 100));
      expect(await cells.nth(1).innerText()).toBe(`${nodeName(0)}\t1\tstarts`);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      expect(opened.faults).toEqual([]);
    });

    it("are found by a part of a name, of a namespace or of a bridge", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.getByText("default/br1-net").first().waitFor();
      const search = page.getByRole("searchbox", { name: "Bridge, namespace or network contains" });
      await search.pressSequentially("VLAN10");
      await expect.poll(() => page.getByRole("row").count()).toBeLessThan(13);
      await row(page, "tenant-3/vlan103").waitFor();
      await search.fill("br9");
      await page.getByText("1 VM waits for a node: tenant-lab/nobridge").waitFor();
      expect(await page.getByRole("rowheader").count()).toBe(2);
      await search.fill("nothing");
      await page.getByText("No bridge and no network has such a name.").waitFor();
    });

    it("follow what starts, without a reload", async () => {
      await using opened = await open();
      const { page } = opened;
      await page.evaluate("window.isTheSame = true");
      await page.getByText("default/br1-net").first().waitFor();
      const column = nodes === 3 ? 4 : 3;
      const before = (await cellsOf(page, "tenant-1/vlan101"))[column];
      expect(before).toMatch(/^0/);
      const late = guestOf("tenant-1", "late", ["vlan101"], nodeName(0));
      await served.fixture.objects.tell("ADDED", "virtualmachineinstances", late);
      await expect
        .poll(async () => (await cellsOf(page, "tenant-1/vlan101"))[column], { timeout: 10_000 })
        .toMatch(/^1/);
      expect(await page.evaluate("window.isTheSame")).toBe(true);
    });
  });

  it("are told beside each address: the bridge and the VLAN", async () => {
    const owners = [owner("tenant-0", "web", { network: "multus vlan100" })];
    const fixture = await InspectionFixture.start({ ...clusterOf(3, 9), claims: [claimOf(FIRST, owners)] });
    await using served = await FixturePage.start(fixture);
    await using opened = await served.open("#/addresses", { viewport: { width: 1280, height: 900 } });
    const { page } = opened;
    const told = page.getByRole("region", { name: "Addresses" }).getByText("multus vlan100 br1, VLAN 100");
    await told.waitFor();
    await takePicture(page, "addresses-network");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as CSV" }).click();
    const [header, row] = (await readFile(await (await saved).path(), "utf8")).split("\r\n");
    expect(header).toContain(",network,bridge,vlan,node,");
    expect(row).toContain(",multus vlan100,br1,100,");
    await page.getByRole("link", { name: formatMac(FIRST) }).click();
    const panel = page.getByRole("complementary", { name: `Address ${formatMac(FIRST)}` });
    await panel.getByText("on network multus vlan100 (br1, VLAN 100).").waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await takePicture(page, "addresses-network-phone");
    expect(await overflow(page)).toBe(0);
    expect(await seriousFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  it("come in steps, as many as the reader asks for", async () => {
    await using served = await FixturePage.start(await InspectionFixture.start(clusterOf(3, 70)));
    await using opened = await served.open("#/networks");
    const { page } = opened;
    await page.getByText("50 of 70 networks are shown.").waitFor();
    expect(await page.getByText("Without a bridge").count()).toBe(0);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("Without a bridge").waitFor();
    expect(await page.getByText("networks are shown").count()).toBe(0);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as CSV" }).click();
    const csv = await readFile(await (await saved).path(), "utf8");
    expect(csv.trim().split("\r\n")).toHaveLength(71);
    expect(csv).toContain("br1,tenant-0,vlan100,100,inherit,off,bridge.network.kubevirt.io/br1,tenant-0,1,");
  });
});
