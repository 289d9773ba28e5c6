import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { FINDING_CODES, finding } from "../../src/nad-lint/finding.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Nad {
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly config: string };
}

const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".md"),
);
const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** Of all blocks, whatever language they are said to be in, and of what commands read from `<<YAML`. What is no YAML holds no network. */
function networksIn(page: string): Nad[] {
  const blocks = Array.from(read(page).matchAll(/^( *)```.*\n([\s\S]*?)^ *```$/gm), ([, indent = "", block = ""]) =>
    block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
  const inputs = Array.from(read(page).matchAll(/<<YAML.*\n([\s\S]*?)^YAML$/gm), ([, input = ""]) => input);
  const documents = [...blocks, ...inputs]
    .flatMap((block) => [...parseAllDocuments(block)])
    .filter(({ errors }) => errors.length === 0);
  const objects = documents.map((document) => document.toJS() as Nad | null);
  return objects.filter((object) => object?.kind === "NetworkAttachmentDefinition") as Nad[];
}

it("finds nothing in the networks of the documentation", () => {
  const all = ["README.md", ...pages.map((page) => `docs/${page}`)];
  const networks = all.flatMap(networksIn);
  const written = all.flatMap((page) => read(page).match(/kind"?: *"?NetworkAttachmentDefinition/g) ?? []);
  expect([networks.length, written.length]).toEqual([1, 1]);
  for (const { metadata, spec } of networks) {
    const { name, annotations = {} } = metadata;
    const findings = lintNetwork({ name, annotations, config: spec.config });
    expect(
      findings.filter(({ severity }) => severity !== "note"),
      name,
    ).toEqual([]);
  }
});

it("the page names every finding, in its order and by its severity", () => {
  const tables = read("docs/reference/nad-lint.md")
    .split(/^\| (error|warning|note)/m)
    .slice(1);
  const named = tables.flatMap((part, index) => {
    const severity = tables[index - 1];
    return index % 2 === 0
      ? []
      : Array.from(part.matchAll(/^\| `([a-z0-9-]+)` \|/gm), ([, code]) => `${severity} ${code}`);
  });
  expect(named).toEqual(FINDING_CODES.map((code) => `${finding(code, "").severity} ${code}`));
});
