/** Debian's chromium without a window, driven by playwright-core. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findExecutable } from "../cluster/requirements.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
/** Pictures of the last run. Not kept in git. */
const PICTURES = join(REPOSITORY, "test-results", "page");
export const CHROMIUM_NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"] as const;

const findChromium = (): string | undefined =>
  CHROMIUM_NAMES.map((name) => findExecutable(name)).find((found) => found !== undefined);

/** The program, undefined where there is none. */
export const CHROMIUM = findChromium();

export function launchChromium(): Promise<Browser> {
  // Tests run as root, whom chromium's sandbox refuses.
  return chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });
}

/** A page, and what went wrong on it: violations of its policy, errors of its script. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Expected to stay empty. Requests that the pool refuses are no fault of the page. */
  readonly faults: readonly string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  // The certificate is of the test's own authority.
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) faults.push(text);
  });
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(url);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** Leads to a view in the same document, so that the reader stays signed in. */
export async function show(page: Page, fragment: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
}

export async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

/** What the browser's print dialog would send to the printer, as PDF; kept beside the pictures. */
export async function printPage(page: Page, name: string): Promise<Buffer> {
  await mkdir(PICTURES, { recursive: true });
  return page.pdf({ path: join(PICTURES, `${name}.pdf`), format: "A4" });
}

/** Accessibility faults that axe-core calls serious or critical, as `rule: element`. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(join(REPOSITORY, "node_modules/axe-core/axe.min.js"), "utf8"));
  const { violations } = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** How far the document is wider than the window, in CSS pixels. */
export async function overflow(page: Page): Promise<number> {
  return (await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number;
}
