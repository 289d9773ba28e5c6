import { expect, it } from "vitest";
import { bundleProcesses } from "../../../deploy/image/bundles.ts";

it("holds text that takes one byte a character in memory, in one language", async () => {
  const { tree, sources } = await bundleProcesses("amd64");
  const wide = [...tree].filter(
    ([name, entry]) => name.endsWith(".js") && entry.kind === "file" && entry.content.some((byte) => byte > 0x7f),
  );
  expect(wide.map(([name]) => name).filter((name) => name.startsWith("src/"))).toEqual([]);
  const languages = sources.filter((source) => source.includes("/zod/v4/locales/"));
  expect(languages.filter((source) => !/\/(en|index)\.js$/.test(source))).toEqual([]);
});
