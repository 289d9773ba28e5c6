import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { generatedFiles } from "../../deploy/generated-files.ts";

const root = join(import.meta.dirname, "../..");

describe("deploy/", () => {
  it.each(generatedFiles().map((file) => [file.path, file.text] as const))(
    "%s is what `npm run generate` writes",
    (path, text) => {
      expect(readFileSync(join(root, path), "utf8")).toBe(text);
    },
  );

  it("has no definition that no code stands for", () => {
    const expected = generatedFiles().map(({ path }) => path);
    const present = readdirSync(join(root, "deploy/crds")).map((name) => `deploy/crds/${name}`);
    expect(present.filter((path) => !expected.includes(path))).toEqual([]);
  });

  it("releases the namespace first and the operator last", () => {
    const text = readFileSync(join(root, "deploy/release.yaml"), "utf8");
    const kinds = parseAllDocuments(text).map((document) => document.get("kind"));
    expect(kinds.at(0)).toBe("Namespace");
    expect(kinds.at(-1)).toBe("Deployment");
    expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).toHaveLength(3);
  });
});
