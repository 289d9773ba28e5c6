import type { Browser, BrowserContextOptions } from "playwright-core";
import type { InspectionFixture } from "../mac-pool/inspection/inspection-fixture.ts";
import { InspectionServer } from "../mac-pool/inspection/rest/inspection-server.ts";
import { launchChromium, openPage, type WatchedPage } from "./chromium.ts";

/** The page of a replica that has objects and no API server, in a browser, for somebody who may read everything. */
export class FixturePage implements AsyncDisposable {
  readonly fixture: InspectionFixture;
  readonly #server: InspectionServer;
  readonly #browser: Browser;

  private constructor(fixture: InspectionFixture, server: InspectionServer, browser: Browser) {
    this.fixture = fixture;
    this.#server = server;
    this.#browser = browser;
  }

  /** Ends `fixture` with itself. */
  static async start(fixture: InspectionFixture): Promise<FixturePage> {
    return new FixturePage(fixture, await InspectionServer.start(fixture), await launchChromium());
  }

  open(fragment: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const extraHTTPHeaders = { authorization: "Bearer viewer" };
    return openPage(this.#browser, `http://127.0.0.1:${this.#server.port}/${fragment}`, {
      extraHTTPHeaders,
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.#server[Symbol.asyncDispose]();
    await this.fixture[Symbol.asyncDispose]();
  }
}
