import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { filesInGit, releaseFiles } from "../../deploy/generated-files.ts";
import { loadedImage, pulledImage, replacedVersion, writeRelease } from "../../deploy/release.ts";
import { DEFAULT_IMAGE, IMAGE_REPOSITORY } from "../../src/api/image.ts";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { PUBLISHED_IMAGES } from "../../src/operator/config/component-images.ts";
import { releaseText } from "./support/release-text.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
const objectsIn = (text: string, version: "1.1" | "1.2"): unknown[] =>
  parseAllDocuments(text, { version }).map((document) => document.toJS());

describe("deploy/", () => {
  it.each(filesInGit().map((file) => [file.path, file.text] as const))(
    "%s is what `npm run generate` writes",
    (path, text) => {
      expect(readFileSync(join(deploy, path), "utf8")).toBe(text);
    },
  );

  it.each(releaseFiles().filter(({ path }) => /\.yaml$/.test(path) && !path.includes("/templates/")))(
    "$path means the same in YAML 1.1, which kubectl and Helm read, and in YAML 1.2",
    ({ text }) => {
      expect(objectsIn(text, "1.1")).toEqual(objectsIn(text, "1.2"));
    },
  );

  it("has no file that no code stands for", () => {
    const data = filesIn(deploy).filter((path) => !/\.ts$|^image\/pins\.json$/.test(path));
    const expected = filesInGit().map(({ path }) => path);
    expect(data).toEqual([...expected, "release.yaml"].sort());
  });

  it("has the text of the release once: kustomize reads no file outside of its folder, so release.yaml is a link", () => {
    expect(readlinkSync(join(deploy, "release.yaml"))).toBe("kustomize/base/release.yaml");
  });
});

describe("a release", () => {
  it("is what `npm run release` writes, whole and in place of an older one", async () => {
    const folder = join(mkdtempSync(join(tmpdir(), "release-")), "release");
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, "of-an-older-one.yaml"), "");
      await writeRelease(folder, DEFAULT_IMAGE);
      expect(statSync(folder).mode & 0o777).toBe(0o755);
      const written = releaseFiles();
      const krew = ["krew/kubectl-macpool.tar.gz", "krew/macpool.yaml"];
      expect(filesIn(folder)).toEqual([...written.map(({ path }) => path), ...krew].sort());
      for (const { path, text } of written) expect(readFileSync(join(folder, path), "utf8"), path).toBe(text);
    } finally {
      rmSync(dirname(folder), { recursive: true });
    }
  });

  it("gives every pod the image of the release, and leaves no other image in any file", () => {
    const image = `registry.test:5000/own@sha256:${"0".repeat(64)}`;
    const text = releaseFiles(image)
      .map((file) => file.text)
      .join("");
    expect(text).toContain(`image: ${image}\n`);
    expect(text).not.toContain(IMAGE_REPOSITORY);
  });

  it("has an image by digest, or by the tag under which it was loaded into the nodes", () => {
    const [digest, tag] = [`localhost/own@sha256:${"0".repeat(64)}`, "localhost/own:dev"];
    expect(pulledImage(digest)).toBe(digest);
    expect(loadedImage(tag)).toBe(tag);
    expect(loadedImage()).toBe(DEFAULT_IMAGE);
    expect(() => pulledImage(tag)).toThrow("localhost/own:dev has no digest");
    expect(() => pulledImage(undefined)).toThrow("--image is missing");
    for (const wrong of [digest, "localhost/own", "own:dev"])
      expect(() => loadedImage(wrong)).toThrow("REGISTRY/NAME:TAG");
  });

  it("replaces a version, and nothing that is none", () => {
    for (const version of [undefined, "0.9.1", "1.0.0-rc.1"]) expect(replacedVersion(version)).toBe(version);
    for (const wrong of ["", "foo", "v0.9.1", "0.9.1 ", "cluster-network-addons-operator.0.9.1", "1.2.3-.."]) {
      expect(() => replacedVersion(wrong)).toThrow(`--replaces ${wrong} is no version`);
    }
    expect(() => replacedVersion(PRODUCT_VERSION)).toThrow(
      `--replaces ${PRODUCT_VERSION} is the version of this release`,
    );
  });

  it("has a mirror before the names of other projects' images, in every package", () => {
    const mirror = "registry.test:5000/mirror";
    const { name, digest } = PUBLISHED_IMAGES.MULTUS_IMAGE;
    const files = new Map(releaseFiles(DEFAULT_IMAGE, { mirror }).map(({ path, text }) => [path, text]));
    for (const path of ["release.yaml", "operator.yaml", "kustomize/base/release.yaml"]) {
      expect(files.get(path)).toContain(`name: IMAGE_MIRROR\n              value: ${mirror}\n`);
    }
    expect(files.get("helm/values.yaml")).toContain(`\nimageMirror: ${mirror}\n`);
    const version = files.get("olm/manifests/cluster-network-addons-operator.clusterserviceversion.yaml");
    expect(version?.split(`${mirror}/${name}@${digest}`)).toHaveLength(3);
    expect(version).not.toContain(` ${name}@`);
    expect(
      releaseFiles().some(({ path, text }) => path.endsWith("release.yaml") && text.includes("IMAGE_MIRROR")),
    ).toBe(false);
  });

  it("names an image that nobody can put into a public registry", () => {
    expect(DEFAULT_IMAGE).toMatch(/^[^/]+\.invalid\//);
  });

  it("releases the namespace first", () => {
    const kinds = parseAllDocuments(releaseText("release.yaml")).map((document) => document.get("kind"));
    expect(kinds.slice(0, 2)).toEqual(["Namespace", "CustomResourceDefinition"]);
  });

  it("has a part that may be deleted at any time: it holds no namespace, no definition and no data", () => {
    const objects = parseAllDocuments(releaseText("operator.yaml"));
    const kinds = objects.map((document) => document.get("kind"));
    expect(new Set(kinds)).toEqual(
      new Set(["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Deployment"]),
    );
  });

  it("puts the definitions of users' data into no package", () => {
    const packages = releaseFiles().filter(({ path }) => !path.startsWith("crds/"));
    const data = packages.filter(({ text }) => /^ {2}name: (macpools|macclaims)/m.test(text));
    expect(data.map(({ path }) => path)).toEqual([]);
  });
});
