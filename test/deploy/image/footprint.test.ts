import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { oneByte } from "../../../deploy/image/footprint.ts";

describe("a bundle of one byte a character", () => {
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), "one-byte-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  async function bundled(source: string): Promise<string> {
    await writeFile(path.join(root, "ours.ts"), source);
    return String(await oneByte(source, ["gone.ts", "ours.ts"], root));
  }

  it("has question marks in its comments, and nothing else of it changes", async () => {
    const source = '/** Größe */\nexport const size = 1; // in µs\nexport const text = "?";\n';
    expect(await bundled(source)).toBe('/** Gr??e */\nexport const size = 1; // in ?s\nexport const text = "?";\n');
  });

  it.each([
    ["a regular expression", "export const umlaut = /[äöü]/;", "\\u00e4\\u00f6\\u00fc"],
    ["a raw template", "export const raw = String.raw`µs`;", "\\u00b5"],
  ])("is refused for a character in %s, with the place", async (_, code, spelled) => {
    const error = await bundled(`// äöü µ\n\n${code}\n`).catch(({ message }: Error) => message);
    expect(error).toMatch(/^ours\.ts:3: /);
    expect(error).toContain(`write it as ${spelled}.`);
  });
});
