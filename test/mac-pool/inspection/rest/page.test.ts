import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { fastify } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../../../src/kube/log.ts";
import { readPage, routePage } from "../../../../src/mac-pool/inspection/rest/page.ts";

const DOCUMENT = "<!doctype html><title>MAC pool</title>";

describe("the route of the page", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "page-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function served() {
    await writeFile(path.join(folder, "index.html"), DOCUMENT);
    await writeFile(path.join(folder, "page.js"), "go();");
    await writeFile(path.join(folder, "notes.txt"), "not for the public");
    const server = fastify();
    routePage(server, await readPage(folder, silentLog));
    return (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers });
  }

  it("serves the document at / and the other files under their names, and no file of another type", async () => {
    const get = await served();
    const document = await get("/");
    expect(document.statusCode).toBe(200);
    expect(document.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(document.body).toBe(DOCUMENT);
    expect((await get("/page.js")).headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect((await get("/notes.txt")).statusCode).toBe(404);
    expect((await get("/..%2fpackage.json")).statusCode).toBe(404);
  });

  it("allows no script and no style but those of the page", async () => {
    const get = await served();
    for (const url of ["/", "/page.js"]) {
      const policy = String((await get(url)).headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).not.toContain("unsafe");
    }
  });

  it("compresses for those who take it, and tells the two forms apart", async () => {
    const get = await served();
    const plain = await get("/", { "accept-encoding": "gzip;q=0, identity" });
    const zipped = await get("/", { "accept-encoding": "br, gzip" });
    expect(plain.body).toBe(DOCUMENT);
    expect(gunzipSync(zipped.rawPayload).toString()).toBe(DOCUMENT);
    expect(zipped.headers.etag).not.toBe(plain.headers.etag);
    expect(zipped.headers.vary).toBe("accept-encoding");
  });

  it("answers 304 to who has the content already", async () => {
    const get = await served();
    const { etag = "" } = (await get("/")).headers;
    expect((await get("/", { "if-none-match": String(etag) })).statusCode).toBe(304);
    expect((await get("/", { "if-none-match": '"other"' })).statusCode).toBe(200);
  });

  it("is absent without its files, and harms nothing", async () => {
    const server = fastify();
    routePage(server, await readPage(path.join(folder, "none"), silentLog));
    expect((await server.inject({ url: "/" })).statusCode).toBe(404);
  });
});
