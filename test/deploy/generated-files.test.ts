import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { generatedFiles } from "../../deploy/generated-files.ts";
import { DEFAULT_IMAGE, IMAGE_REPOSITORY } from "../../src/api/image.ts";

const root = join(import.meta.dirname, "../..");
const objectsIn = (text: string, version: "1.1" | "1.2"): unknown[] =>
  parseAllDocuments(text, { version }).map((document) => document.toJS());

describe("deploy/", () => {
  it.each(generatedFiles().map((file) => [file.path, file.text] as const))(
    "%s is what `npm run generate` writes",
    (path, text) => {
      expect(readFileSync(join(root, path), "utf8")).toBe(text);
    },
  );

  it.each(generatedFiles().filter(({ path }) => /\.yaml$/.test(path) && !path.includes("/templates/")))(
    "$path means the same in YAML 1.1, which kubectl and Helm read, and in YAML 1.2",
    ({ text }) => {
      expect(objectsIn(text, "1.1")).toEqual(objectsIn(text, "1.2"));
    },
  );

  it("has no file that no code stands for", () => {
    const expected = generatedFiles().map(({ path }) => path);
    const folders = ["crds", "crds-without-rules", "helm", "kustomize", "olm"].map((name) => `deploy/${name}`);
    const present = folders.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    );
    expect(present.filter((path) => !expected.includes(path))).toEqual([]);
  });

  it("gives every pod the image of the release, and leaves no other image in any file", () => {
    const image = `registry.test:5000/own@sha256:${"0".repeat(64)}`;
    const text = generatedFiles(image)
      .map((file) => file.text)
      .join("");
    expect(text).toContain(`image: ${image}\n`);
    expect(text).not.toContain(IMAGE_REPOSITORY);
  });

  it("names an image that nobody can put into a public registry", () => {
    expect(DEFAULT_IMAGE).toMatch(/^[^/]+\.invalid\//);
  });

  it("releases the namespace first", () => {
    const text = readFileSync(join(root, "deploy/release.yaml"), "utf8");
    const kinds = parseAllDocuments(text).map((document) => document.get("kind"));
    expect(kinds.slice(0, 2)).toEqual(["Namespace", "CustomResourceDefinition"]);
  });

  it("has a part that may be deleted at any time: it holds no namespace, no definition and no data", () => {
    const objects = parseAllDocuments(readFileSync(join(root, "deploy/operator.yaml"), "utf8"));
    const kinds = objects.map((document) => document.get("kind"));
    expect(new Set(kinds)).toEqual(
      new Set(["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Deployment"]),
    );
  });

  it("puts the definitions of users' data into no package", () => {
    const packages = generatedFiles().filter(({ path }) => !path.startsWith("deploy/crds/"));
    const data = packages.filter(({ text }) => /^ {2}name: (macpools|macclaims)/m.test(text));
    expect(data.map(({ path }) => path)).toEqual([]);
  });
});
