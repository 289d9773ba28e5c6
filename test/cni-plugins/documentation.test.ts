import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { warnAboutKeys } from "../../cni-plugins/bridge/config-keys.ts";
import * as errors from "../../cni-plugins/cni/cni-error.ts";
import { ConfigObject } from "../../cni-plugins/cni/config-object.ts";
import { warnAboutKeys as warnAboutTuningKeys } from "../../cni-plugins/tuning/config.ts";

const page = readFileSync(path.resolve(import.meta.dirname, "../../docs/reference/cni-plugins.md"), "utf8");

/** What is in code style in the first column of a section's table. */
function firstColumn(heading: string): readonly string[] {
  const section = page.split(/^## /m).find((one) => one.startsWith(heading)) ?? "";
  const cells = Array.from(section.matchAll(/^\| ([^|]*[a-z0-9`]) \|/gm), ([, cell = ""]) => cell);
  return cells.flatMap((cell) => cell.split(", ")).map((cell) => cell.replaceAll("`", ""));
}

it("names every error code, and no other", () => {
  const codes = Object.values(errors).filter((value) => typeof value === "number");
  const named = firstColumn("Error codes").filter((cell) => /^\d+$/.test(cell));
  expect(named).toEqual(codes.sort((a, b) => a - b).map(String));
});

it.each([
  [
    "`bridge`",
    (config: ConfigObject, warn: (text: string) => void) =>
      warnAboutKeys(config, { addresses: true, vlans: true, spoofCheck: true }, warn),
  ],
  ["`tuning`", warnAboutTuningKeys],
])("names keys of %s that the plugin knows", (heading, warnAbout) => {
  const keys = firstColumn(heading).filter((key) => key !== "key");
  expect(keys.length).toBeGreaterThan(5);
  const warnings: string[] = [];
  const config = new ConfigObject(Object.fromEntries(keys.map((key) => [key, "x"])));
  warnAbout(config, (text: string) => warnings.push(text));
  expect(warnings).toEqual([]);
});
