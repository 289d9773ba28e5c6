import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InspectionFixture } from "../inspection-fixture.ts";
import { InspectionServer } from "../rest/inspection-server.ts";

/** As the specification of the page says; each has two streams open. */
const PAGES = 50;

describe("the watches of pages", () => {
  let fixture: InspectionFixture;
  let server: InspectionServer;
  const agent = new Agent({ maxSockets: 1_000 });
  beforeEach(async () => {
    fixture = await InspectionFixture.start();
    server = await InspectionServer.start(fixture, { username: "viewer" });
  });
  afterEach(async () => {
    agent.destroy();
    await server[Symbol.asyncDispose]();
    await fixture[Symbol.asyncDispose]();
  });

  async function statusOf(path: string): Promise<number | undefined> {
    const headers = { authorization: "Bearer viewer" };
    const asked = request({ host: "127.0.0.1", port: server.port, path: `/api/v1/${path}?watch=true`, agent, headers });
    asked.on("error", () => {});
    const [answer] = (await once(asked.end(), "response")) as [IncomingMessage];
    answer.on("error", () => {}).resume();
    return answer.statusCode;
  }

  it("are enough for fifty pages of one account, and leave room for other accounts", async () => {
    const statuses = new Map<number | undefined, number>();
    for (let page = 0; page < PAGES; page++) {
      for (const path of ["collisions", "denials"]) {
        const status = await statusOf(path);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    expect([...statuses]).toEqual([[200, 2 * PAGES]]);
    expect(await statusOf("collisions")).toBe(429);
  });
});
