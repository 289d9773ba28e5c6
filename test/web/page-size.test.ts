import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { bundlePage, type Page } from "../../src/web/build/build.ts";

const MAX_BYTES = 40 * 1024;

describe("the bundled page", () => {
  let page: Page;
  beforeAll(async () => {
    page = await bundlePage();
  });

  it("is less than 40 KB, compressed", () => {
    const bytes = [...page.files.values()].reduce((sum, content) => sum + gzipSync(content).length, 0);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  it("has a document whose files are all there, under relative addresses, with nothing inline", () => {
    const document = page.files.get("index.html")?.toString() ?? "";
    const named = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name ?? "");
    expect(named.toSorted()).toEqual(["icon.svg", "page.js", "style.css"]);
    expect(named.filter((name) => !page.files.has(name))).toEqual([]);
    expect(document).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=/);
  });

  it("asks no other host for anything", () => {
    const text = ["page.js", "style.css"].map((name) => page.files.get(name)?.toString() ?? "").join("\n");
    const addresses = text.match(/https?:\/\/[^"'`\s)]+/g) ?? [];
    // Names of XML namespaces, which nobody opens.
    expect(addresses.filter((address) => !address.startsWith("http://www.w3.org/"))).toEqual([]);
  });

  it("is made of Preact, its signals and the contract, and of no validator", () => {
    const packages = page.sources.flatMap((source) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
    expect([...new Set(packages)].toSorted()).toEqual(["@preact/signals", "@preact/signals-core", "preact"]);
  });
});
