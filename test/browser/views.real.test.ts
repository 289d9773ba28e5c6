import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_MAC_POOL, VM_WEBHOOK } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { instanceOf } from "../mac-pool/machines.ts";
import { shareOf } from "../support/share.ts";
import { CHROMIUM, overflow, seriousFaults, show, takePicture, type WatchedPage } from "./chromium.ts";
import { PageHarness, RANGE } from "./page-harness.ts";

const GREEDY = "02:00:00:00:00:01";
const TWIN = "02:5d:1c:00:00:b7";

/**
 * Each view, and what a reader finds there: before anything is in use (the harness's own probe was refused, as a dry run), and
 * with what `PageHarness.fill` creates, two colliding VMs and one that came late.
 */
const VIEWS: readonly View[] = [
  { fragment: "#/overview", title: "Overview", empty: "No problem is known.", filled: "default/greedy" },
  { fragment: "#/networks", title: "Networks", empty: "There is no network.", filled: "There is no network." },
  { fragment: "#/addresses", title: "Addresses", empty: "No address is in use.", filled: "15 addresses" },
  {
    fragment: `#/address/${GREEDY}`,
    title: "Addresses",
    picture: "address",
    empty: "No claim has this address.",
    filled: "MACClaim",
  },
  { fragment: "#/map", title: "Map", empty: "The map as a table: 0 cells in use", filled: "cells in use" },
  {
    fragment: "#/problems",
    title: "Problems",
    empty: "No problem is known.",
    filled: ": 02:00:00:00:00:01 is in use",
  },
  { fragment: "#/collisions", title: "Collisions", empty: "two running VMs or pods have it", filled: TWIN },
  { fragment: "#/refusals", title: "Refusals", empty: "dry run", filled: "is in use by VirtualMachine" },
  { fragment: "#/consistency", title: "Consistency", empty: "Everything agrees.", filled: "Leader" },
  { fragment: "#/namespaces", title: "Namespaces", empty: "kube-system", filled: "kube-system" },
  {
    fragment: `#/check?mac=${GREEDY}&namespace=default`,
    title: "Check an address",
    empty: "It would be accepted",
    filled: "It would be refused",
  },
  {
    fragment: "#/owner/VirtualMachine/default/web-0",
    title: "VM default/web-0",
    picture: "owner",
    empty: "no VirtualMachine",
    filled: "allocated",
  },
];

interface View {
  readonly fragment: string;
  readonly title: string;
  /** Of its picture; the title unless given. */
  readonly picture?: string;
  /** What is read there in either state. */
  readonly empty: string;
  readonly filled: string;
}

const LOOKS = [
  { look: "light", options: { viewport: { width: 1440, height: 900 } } },
  { look: "dark", options: { viewport: { width: 1440, height: 900 }, colorScheme: "dark" } },
  { look: "phone", options: { viewport: { width: 360, height: 740 } } },
  { look: "4k", options: { viewport: { width: 3840, height: 2160 } } },
] as const;

describe.skipIf(CHROMIUM === undefined)("the page in a browser", () => {
  let harness: PageHarness;
  let token: string;
  beforeAll(async () => {
    harness = await PageHarness.start();
    token = await harness.reader("viewer");
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  const sees = async ({ page }: WatchedPage, text: string): Promise<void> => {
    await page.getByText(text).first().waitFor();
  };

  async function visit(opened: WatchedPage, state: "empty" | "filled", look: string): Promise<void> {
    for (const view of VIEWS) {
      await show(opened.page, view.fragment);
      await opened.page.getByRole("heading", { level: 1, name: view.title }).waitFor();
      await sees(opened, view[state]);
      const { picture = view.title.toLowerCase().replaceAll(" ", "-") } = view;
      await takePicture(opened.page, `${state}-${look}-${picture}`);
      expect({ picture, faults: await seriousFaults(opened.page) }).toEqual({ picture, faults: [] });
      expect({ picture, tooWide: await overflow(opened.page) }).toEqual({ picture, tooWide: 0 });
    }
    expect(opened.faults).toEqual([]);
  }

  const [light, , phone] = LOOKS;
  it.each(shareOf([phone, light]))(
    "teaches what each view shows while nothing is in use: $look",
    async ({ look, options }) => {
      await using opened = await harness.openAs(token, "#/overview", options);
      await visit(opened, "empty", look);
    },
  );

  describe("with twelve addresses in use", () => {
    beforeAll(() => harness.fill());

    it("shows what is created, refused and shared while it is open, without a reload", async () => {
      await using opened = await harness.openAs(token, "#/refusals");
      const { page } = opened;
      await page.evaluate("window.isTheSame = true");
      await sees(opened, "Live");
      await harness.refuse("too-late", GREEDY);
      await sees(opened, "default/too-late");
      await show(page, "#/collisions");
      await sees(opened, "Nothing collides.");
      await harness.collide(TWIN);
      await page.getByRole("main").getByText(TWIN).first().waitFor();
      await sees(opened, "default/twin-b");
      await show(page, "#/addresses");
      await sees(opened, "14 addresses");
      await harness.createMachine("late", [{ name: "net1" }]);
      await sees(opened, "15 addresses");
      expect(await page.evaluate("window.isTheSame")).toBe(true);
    });

    it.each(shareOf(LOOKS))("shows in each view what is asked of it: $look", async ({ look, options }) => {
      await using opened = await harness.openAs(token, "#/overview", options);
      await visit(opened, "filled", look);
    });

    it("says whether an address would be accepted, and why not", async () => {
      await using opened = await harness.openAs(token, "#/check");
      const { page } = opened;
      const check = async (mac: string): Promise<void> => {
        await page.getByLabel("MAC address").fill(mac);
        await page.getByRole("button", { name: "Check" }).click();
      };
      await check("not a mac");
      await page.getByText("This is no MAC address.").waitFor();
      await check("0200.0000.0001");
      await page.getByRole("heading", { name: "It would be refused" }).waitFor();
      await page.getByText("is in use by VirtualMachine default/legacy").waitFor();
      await check(RANGE.end);
      await page.getByRole("heading", { name: "It would be accepted" }).waitFor();
      await check("not a mac");
      await page.getByText("This is no MAC address.").waitFor();
      await show(page, "#/check?mac=02:00:00:00:00:01&namespace=default");
      await page.getByRole("heading", { name: "It would be refused" }).waitFor();
      expect(await page.getByLabel("MAC address").inputValue()).toBe("02:00:00:00:00:01");
    });

    it("draws how many addresses a pool had in use over a month", async () => {
      const dayBefore = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
      const known = [
        { date: dayBefore(20), used: 3 },
        { date: dayBefore(9), used: 16 },
        { date: dayBefore(2), used: 8 },
      ];
      const name = DEFAULT_MAC_POOL;
      const { history = [] } = (await harness.pool.admin.get(KINDS.pools, { name })).status ?? {};
      const patch = { type: "merge", body: { status: { history: [...known, ...history] } } } as const;
      await harness.pool.admin.patch(KINDS.pools, { name }, patch, { subresource: "status" });
      await using opened = await harness.openAs(token);
      const { page } = opened;
      await page.locator("summary").first().click();
      await page.getByText(`Used: 3 on ${dayBefore(20)}, `).waitFor();
      const path = (await page.locator(".usage-history path").getAttribute("d")) ?? "";
      expect(path).toMatch(/^M10 8\.125H10V8\.125H21V0H28V5H30V[\d.]+H31$/);
      await takePicture(page, "history");
      expect({ faults: await seriousFaults(page), tooWide: await overflow(page) }).toEqual({ faults: [], tooWide: 0 });
    });

    it("takes a collision away when it is over", async () => {
      await using opened = await harness.openAs(token, "#/collisions");
      await sees(opened, "default/twin-b");
      await harness.separate();
      await sees(opened, "Nothing collides.");
    });

    it("shows who only lists an address, and of a VMI whose claim its address has", async () => {
      const { admin } = harness.pool;
      const labels = { [VM_WEBHOOK]: "ignore" };
      await admin.create(RESOURCES.namespaces, { metadata: { name: "outside", labels } });
      await harness.createMachine("lister", [{ name: "net7", macAddress: GREEDY }], "outside");
      const legacy = await admin.get(KINDS.virtualMachines, { name: "legacy", namespace: "default" });
      await admin.create(KINDS.instances, instanceOf(legacy));
      await using opened = await harness.openAs(token, `#/address/${GREEDY}`);
      const { page } = opened;
      const panel = page.getByRole("complementary", { name: `Address ${GREEDY}` });
      await panel.getByRole("link", { name: "outside/lister" }).waitFor();
      await panel.getByText("lists it for interface net7: the pool did not give it").waitFor();
      await takePicture(page, "address-listed");
      await show(page, "#/owner/VirtualMachineInstance/default/legacy");
      const table = page.getByRole("region", { name: "Interfaces" });
      await table.getByRole("link", { name: "default/legacy" }).waitFor();
      await takePicture(page, "owner-holder");
      await show(page, "#/owner/VirtualMachine/outside/lister");
      await table.getByText("no claim of it").waitFor();
      expect(opened.faults).toEqual([]);
    });
  });
});
