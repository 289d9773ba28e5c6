import type { Page } from "playwright-core";
import { CHROMIUM_NAMES, launchChromium, openPage } from "../browser/chromium.ts";
import { type BenchContext, type BenchRow, limitedRow, type Need } from "./bench.ts";

const RUNS = 20;
const LIMIT_MS = 1_000;

/** Throws before anything is measured where there is no browser. */
export const BROWSER: Need = {
  programs: CHROMIUM_NAMES,
  purpose: "to measure the first paint",
  debianPackage: "chromium",
};

/** First Contentful Paint as the browser tells it, and when the overview shows the pools; each with an empty cache. */
export async function measurePaint(port: number, { short }: Pick<BenchContext, "short">): Promise<BenchRow[]> {
  const browser = await launchChromium();
  try {
    const [painted, told]: [number[], number[]] = [[], []];
    for (let run = 0; run < (short ? RUNS / 4 : RUNS); run++) {
      const extraHTTPHeaders = { authorization: "Bearer viewer" };
      await using opened = await openPage(browser, `https://127.0.0.1:${port}/`, { extraHTTPHeaders });
      const { page } = opened;
      told.push(await once(page, 'document.querySelector(".pool .numbers") !== null && performance.now()'));
      painted.push(await once(page, 'performance.getEntriesByName("first-contentful-paint")[0]?.startTime'));
    }
    const rows = { "first contentful paint of the page": painted, "page shows how full the pools are": told };
    return Object.entries(rows).map(([what, samples]) =>
      limitedRow(`${what}, worst of ${samples.length}`, "ms", Math.max(...samples), null, LIMIT_MS),
    );
  } finally {
    await browser.close();
  }
}

/** The value of a script, once it is a number above 0; looked at with each frame. The page's policy forbids `waitForFunction`. */
function once(page: Page, script: string): Promise<number> {
  const looking = `new Promise((resolve) => {
    const look = () => {
      const value = ${script};
      if (value) resolve(value);
      else requestAnimationFrame(look);
    };
    look();
  })`;
  return page.evaluate(looking) as Promise<number>;
}
