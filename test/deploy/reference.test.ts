/** docs/reference holds what the code defines, and commands of all pages are ones that the command line takes. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { referencePages } from "../../deploy/reference-tables.ts";
import * as NAMES from "../../src/api/names.ts";
import { parseCommandLine } from "../../src/cli/command-line.ts";
import { COMMANDS } from "../../src/cli/command-table.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

it.each(referencePages().map(({ path, text }) => [path, text] as const))(
  "docs/reference/%s is what `npm run generate` writes",
  (path, text) => {
    expect(read(`docs/reference/${path}`)).toBe(text);
  },
);

it("has a row for each refusal of the MAC pool, and no others", () => {
  const codes = [...read("src/mac-pool/claims/refusals.ts").matchAll(/^ {2}\| "(MACPOOL_\w+)"/gm)].map(
    ([, code]) => code,
  );
  const [, section = ""] = read("docs/reference/reasons.md").split("## Refusals of the MAC pool");
  const rows = [...section.matchAll(/^\| (`MACPOOL_.*?) \|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
  expect(codes.length).toBeGreaterThan(10);
  expect(rows.toSorted()).toEqual(codes.toSorted());
});

/** API groups, and labels of Kubernetes and KubeVirt that the product only reads. */
const ELSEWHERE: readonly string[] = [
  NAMES.NETWORK_ADDONS_GROUP,
  NAMES.MAC_POOL_GROUP,
  NAMES.NAD_GROUP,
  NAMES.NAMESPACE_NAME_LABEL,
  NAMES.LAUNCHER_LABEL,
];

it("names the labels, annotations and webhooks of the contract", () => {
  const page = read("docs/reference/labels.md");
  const texts = (Object.values(NAMES) as unknown[]).filter((value): value is string => typeof value === "string");
  const labels = texts.filter((text) => /^[a-z0-9.-]+\.io(\/|$)/.test(text) && !ELSEWHERE.includes(text));
  expect(labels.length).toBeGreaterThan(10);
  expect(labels.filter((label) => !page.includes(label))).toEqual([]);
});
/** What stands behind `kubectl macpool` in code, up to the end of the command. */
function commandsIn(page: string): string[] {
  const text = read(page);
  const blocks = Array.from(text.matchAll(/^ *```.*\n([\s\S]*?)^ *```$/gm), ([, block = ""]) => block);
  const spans = Array.from(text.replace(/^ *```[\s\S]*?^ *```$/gm, "").matchAll(/`([^`]+)`/g), ([, span = ""]) =>
    span.replaceAll(/\s+/g, " "),
  );
  return [...blocks, ...spans].flatMap((code) =>
    Array.from(
      code.matchAll(/(?<!\/)kubectl[ -]macpool((?: +(?:\$\([^)]*\)|'[^']*'|[^\s'|&;#<>()])+)+)/g),
      ([, words = ""]) => words.trim(),
    ),
  );
}

const DOCUMENTATION = ["README.md", ...globSync("docs/**/*.md", { cwd: root })].filter(
  (page) => !page.startsWith("docs/decisions"),
);

describe("commands of `kubectl macpool` in the documentation", () => {
  const commands = DOCUMENTATION.flatMap((page) => commandsIn(page).map((command) => [page, command] as const));

  it("are found", () => {
    expect(commands.length).toBeGreaterThan(50);
  });

  it.each(commands)("%s: kubectl macpool %s", (_page, command) => {
    const words = command.match(/(?:\$\([^)]*\)|'[^']*'|[^\s'])+/g) ?? [];
    const argv = words.map((word) => word.replaceAll("'", ""));
    const line = parseCommandLine(argv, COMMANDS);
    const known = ["", "help", "version", ...COMMANDS.map(({ name }) => name)];
    expect(known).toContain(line.command);
  });
});
