import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { refuseWide } from "../../../deploy/image/footprint.ts";

describe("a bundle of one byte a character", () => {
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "one-byte-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  async function refusal(text: string): Promise<string | undefined> {
    await writeFile(path.join(root, "ours.ts"), `// äöü µ\n\n${text}`);
    try {
      await refuseWide(text, ["gone.ts", "ours.ts"], root);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  it("is what esbuild makes of most sources", async () => {
    expect(await refusal('export const text = "\\xb5";\n')).toBeUndefined();
  });

  it.each([
    ["a regular expression", "export const umlaut = /[äöü]/;", "\\u00e4\\u00f6\\u00fc"],
    ["a raw template", "export const raw = String.raw`µs`;", "\\u00b5"],
  ])("is refused for a character in %s, with the place", async (_, code, spelled) => {
    const error = await refusal(`${code}\n`);
    expect(error).toMatch(/^ours\.ts:3: /);
    expect(error).toContain(`write it as ${spelled}.`);
  });
});
