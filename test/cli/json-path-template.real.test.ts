import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseJsonPathTemplate } from "../../src/cli/json-path-template.ts";
import { runCommand } from "../cluster/command.ts";
import { ensureBinaries } from "../cluster/control-plane/binaries.ts";

/** Objects have their keys in alphabetic order: kubectl prints them so. */
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { labels: { "kubevirt.io/domain": "web", tier: "lab" }, name: "web" },
  spec: {
    empty: [],
    nics: [
      { mac: "02:00:00:00:00:01", name: "a", vlans: [1, 2] },
      { mac: "02:00:00:00:00:02", name: "b", network: { name: "blue" } },
      { mac: "02:00:00:00:00:03", name: "c's", trunk: false },
    ],
    none: null,
    number: 5,
  },
};

const TEMPLATES = [
  "plain text",
  "{.metadata.name}",
  "{ .metadata.name }, {.kind}{.apiVersion}",
  "{$.kind} {@.kind}",
  "{.metadata.labels.kubevirt\\.io/domain}",
  "{.metadata.labels['kubevirt\\.io/domain']}",
  "{.metadata['name']} {['kind']}",
  "{.spec.number} {.spec.nics[2].trunk} {.spec.none} {.spec.empty}",
  "{.spec.nics}",
  "{.spec.nics[0]}",
  "{.spec.nics[-1].name} {.spec.nics[-2].name}",
  "{.spec.nics[0:2].name} {.spec.nics[1:].name} {.spec.nics[0:3:2].name} {.spec.nics[0,2].name}",
  "{.spec.nics[*].mac}",
  "{.spec.nics[*].vlans[*]}",
  "{.spec.nics[*]['name', 'network.name']}, {.spec.nics[*]['mac','name']}",
  "{.metadata.labels['kubevirt\\.io/domain','tier']} {.metadata['name','kind']}",
  "{.spec.nics.length} {.spec.nics[0].name.length} {.spec.nics.name}",
  '{.spec.nics[?(@.name=="b")].mac} {.spec.nics[?(@.name=="c\'s")].mac} {.spec.nics[?(@.name!="b")].mac}',
  "{.spec.nics[?(@.network)].name} {.spec.nics[?(@.network.name=='blue')].name}",
  '{.spec.nics[?(@.mac!="x")].name} {.spec.nics[?(@.name>"a")].name} {.spec.nics[?(@.name<="b")].name}',
  "{.spec.nics[?(@.trunk)].name} {.spec.nics[?(@.trunk==true)].name} {.spec.nics[?(@.trunk==false)].name}",
  '{.spec.nics[?(@.vlans[0]==1)].name} {.spec.nics[?(@.name=="a")].vlans[?(@>1)]} {.spec.nics[?("b"==@.name)].mac}',
  "{.spec.nothing.here}",
  '{range .spec.nics[*]}{.name}{"\\t"}{.network.name}{"\\n"}{end}',
  "{range .spec.nics[*]}{range .vlans[*]}{@},{end}|{end}",
  "{range .spec.nics}{.name};{end}",
  '{\'q\'}{"{"}{"}"}',
  "{.spec.nics[2:2].name}{.spec.empty[*]}{.spec.none[0]}{.spec.nothing[3]}",
  "{.spec.nics[?(@.vlans[9])].name} {.spec.nics[?(@.vlans[0])].name}",
  "{}",
];

/** Templates that kubectl ends with an error for, which is a part of its answer. */
const ABSENT: readonly (readonly [string, string])[] = [
  ["{.spec.nics[3].name}", "array index out of bounds: index 3, length 3"],
  ["{.spec.nics[-4].name}", "array index out of bounds: index -1, length 3"],
  ["{.spec.empty[0]}", "array index out of bounds: index 0, length 0"],
  ["{.spec.nics[0,5].name}", "array index out of bounds: index 5, length 3"],
  ["{.spec.nics[1:7].name}", "array index out of bounds: index 6, length 3"],
  ["{.spec.nics[2:1].name}", "starting index 2 is greater than ending index 1"],
  ["{.spec.nics[*].vlans[2]}", "array index out of bounds: index 2, length 2"],
  ["{range .spec.nics[5]}{.name}{end}", "array index out of bounds: index 5, length 3"],
  ["{.metadata[0]}", "is not array or slice"],
  ["{.spec.nics[?(@.vlans[9]==1)].name}", "array index out of bounds: index 9, length 2"],
];

describe("-o jsonpath", () => {
  let folder: string;
  let file: string;
  let kubectl: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "json-path-"));
    file = join(folder, "pod.json");
    await writeFile(file, JSON.stringify(POD));
    ({ kubectl } = await ensureBinaries());
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(TEMPLATES)("prints what kubectl prints: %s", async (template) => {
    const asked = ["label", "--local", "-f", file, "tier=lab", "--overwrite", "-o", `jsonpath=${template}`];
    const { code, stdout, stderr } = await runCommand([kubectl, ...asked]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(parseJsonPathTemplate(template)(POD)).toBe(stdout);
  });

  it.each(ABSENT)("ends with an error where kubectl does: %s", async (template, sentence) => {
    const asked = ["label", "--local", "-f", file, "tier=lab", "--overwrite", "-o", `jsonpath=${template}`];
    const { code, stderr } = await runCommand([kubectl, ...asked]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    expect(() => parseJsonPathTemplate(template)(POD)).toThrow(sentence);
  });
});
