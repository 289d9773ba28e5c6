import { describe, expect, it } from "vitest";
import { parseReference } from "../../../deploy/image/reference.ts";

const DIGEST = `sha256:${"ab".repeat(32)}`;

describe("a reference to an image", () => {
  it.each([
    ["registry.test/name:1.0", { registry: "registry.test", repository: "name", tag: "1.0", digest: undefined }],
    ["localhost/a/b:x", { registry: "localhost", repository: "a/b", tag: "x", digest: undefined }],
    ["127.0.0.1:5000/n:t", { registry: "127.0.0.1:5000", repository: "n", tag: "t", digest: undefined }],
    [`r.test:5000/n@${DIGEST}`, { registry: "r.test:5000", repository: "n", tag: undefined, digest: DIGEST }],
    [`r.test/n:1@${DIGEST}`, { registry: "r.test", repository: "n", tag: "1", digest: DIGEST }],
  ])("%s is read", (text, reference) => {
    expect(parseReference(text)).toEqual(reference);
  });

  it.each([
    ...["name", "name:tag", "registry.test/UPPER:1", "registry.test/n@sha256:ab", "registry.test/", ""],
    ...["reg io.x/foo:1", "reg.io:abc/foo:1", "reg.io:/foo:1", "reg.io//foo:1", "reg.io/a..b:1"],
  ])("%j is not one", (text) => {
    expect(() => parseReference(text)).toThrow("is not the name of an image");
  });

  it("is refused without a registry's host: a public one would be asked", () => {
    expect(() => parseReference("owner/name:1")).toThrow("names no registry");
  });
});
