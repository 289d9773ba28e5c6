import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InspectionBed } from "../mac-pool/inspection/inspection-bed.ts";
import { InspectionServer } from "../mac-pool/inspection/rest/inspection-server.ts";
import { CHROMIUM, launchChromium, openPage, printPage, takePicture } from "./chromium.ts";
import { startPortrait } from "./portrait.ts";

/** The pictures of the README are `portrait-overview` and `portrait-map` of this. */
describe.skipIf(CHROMIUM === undefined)("the page in a browser, after a week", () => {
  let bed: InspectionBed;
  let server: InspectionServer;
  let browser: Browser;
  beforeAll(async () => {
    bed = await startPortrait();
    server = await InspectionServer.start(bed);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    await bed?.[Symbol.asyncDispose]();
  });

  const open = (fragment: string, colorScheme: "light" | "dark" = "light") =>
    openPage(browser, `http://127.0.0.1:${server.port}/${fragment}`, {
      extraHTTPHeaders: { authorization: "Bearer viewer" },
      viewport: { width: 1440, height: 900 },
      colorScheme,
    });

  it("tells in one look how full the pools are and when they will be, what collides and what was refused", async () => {
    await using opened = await open("#/overview");
    const { page } = opened;
    await page.getByText(/^Full in about \d+ days \(between \d+ and \d+ days\)\. From 1,480 allocations/).waitFor();
    await page.getByText("211 given out and 127 released a day, measured over 7 days").waitFor();
    await page.getByText("build/golden-image").first().waitFor();
    await page.getByText("3 times").waitFor();
    await page.getByRole("link", { name: "1 address", exact: true }).waitFor();
    await page.getByText("Everything agrees.").waitFor();
    await page.getByText("Live").waitFor();
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
