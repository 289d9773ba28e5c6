import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { PUBLISHED_IMAGES } from "../../src/operator/config/component-images.ts";

const root = join(import.meta.dirname, "../..");
const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((page) => `docs/${page}`);
const pages = ["README.md", ...docs].filter((page) => page.endsWith(".md"));

/** What GitHub makes of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

function anchorsOf(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

it.each(pages)("%s links to what is there", (page) => {
  const links = readFileSync(join(root, page), "utf8").matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g);
  for (const [link, path = "", anchor] of links) {
    const target = path === "" ? page : join(dirname(page), path);
    expect(existsSync(join(root, target)), link).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor);
  }
});

/** Blocks of YAML, and what commands read from `<<YAML`. */
function yamlIn(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm);
  const inputs = text.matchAll(/<<YAML.*\n([\s\S]*?)^YAML$/gm);
  return [...blocks, ...inputs].map(([, yaml = ""]) => yaml);
}

it("names the archive of the image as the build does", () => {
  const archive = `cluster-network-addons-${PRODUCT_VERSION}.oci.tar`;
  const named = readFileSync(join(root, "docs/guide/laptop.md"), "utf8").match(/[\w.-]+\.oci\.tar/g);
  expect(new Set(named)).toEqual(new Set([archive]));
});

it("has a line that copies each image of other projects to a mirror, by its digest and under its version", () => {
  const copies = readFileSync(join(root, "docs/guide/install.md"), "utf8").match(/^crane copy .*$/gm);
  expect(copies).toEqual(
    Object.values(PUBLISHED_IMAGES).map(
      ({ name, version, digest }) => `crane copy ${name}@${digest} registry.example.com/mirror/${name}:${version}`,
    ),
  );
});

const read = (yaml: string, version: "1.1" | "1.2"): unknown[] =>
  parseAllDocuments(yaml, { version }).map((document) => document.toJS());

it("shows YAML that means the same in its version 1.1, which kubectl and Helm read, and 1.2", () => {
  const shown = pages.flatMap(yamlIn);
  expect(shown.length).toBeGreaterThan(2);
  for (const yaml of shown) expect(read(yaml, "1.1"), yaml).toEqual(read(yaml, "1.2"));
});
