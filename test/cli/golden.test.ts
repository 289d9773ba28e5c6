import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseMac } from "../../src/api/mac.ts";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { mapViewSchema } from "../../src/mac-pool/inspection/rest/views.ts";
import * as answers from "./support/answers.ts";
import * as diagnosis from "./support/diagnosis-answers.ts";
import { goldenPath, onEveryTerminal, transcript } from "./support/golden.ts";
import { macpool, NARROW, TINY, WIDE } from "./support/macpool.ts";
import { type Answer, kubeconfigOf, ScriptedCluster } from "./support/scripted-cluster.ts";

/** An address map in which every kind of cell occurs. */

/** Half of the range free, the rest in every state. */
function mapOf(cells: number, size: number) {
  return mapViewSchema.parse({
    pool: "default",
    from: address(0),
    to: address(cells * size - 1),
    cells: Array.from({ length: cells }, (_, index) => {
      const counts = countsOf(index, size);
      return { first: address(index * size), last: address((index + 1) * size - 1), size, ...counts };
    }),
    outOfRange: 1,
  });
}

function address(number: number): string {
  const hex = (0x025d1c000000 + number).toString(16).padStart(12, "0");
  return hex.match(/../g)?.join(":") ?? "";
}

function countsOf(index: number, size: number) {
  const none = { pending: 0, bound: 0, quarantined: 0, hostAddresses: 0, explicit: 0, colliding: 0 };
  const used = Math.min(size, Math.ceil((size * (index % 5)) / 4));
  const kinds = [
    { bound: used },
    { bound: used, explicit: used },
    { pending: used },
    { quarantined: used },
    { hostAddresses: used },
    { bound: used, colliding: used > 0 ? 1 : 0 },
  ];
  if (index % 2 === 0) return { ...none, free: size };
  return { ...none, free: size - used, ...kinds[Math.floor(index / 5) % kinds.length] };
}

/** What each command prints for one pool. */

const list = (items: readonly object[]): Answer => ({ body: { items, total: items.length } });

function rest(path: string, query: URLSearchParams): Answer | undefined {
  const [collection, ...names] = path.split("/");
  const namespace = query.get("namespace");
  const inNamespace = <T extends { namespace: string }>(item: T): boolean => !namespace || item.namespace === namespace;
  const found = <T>(item: T | undefined): Answer | undefined => (item === undefined ? undefined : { body: item });
  if (collection === "pools" && names[1] === "map") {
    return { body: mapOf(Number(query.get("cells")), query.has("from") ? 1 : 32_768) };
  }
  if (collection === "pools") return list(answers.pools);
  if (collection === "claims" && names[0] !== undefined) {
    return found(answers.claims.find(({ mac }) => parseMac(mac) === parseMac(names[0] ?? "")));
  }
  if (collection === "claims")
    return list(answers.claims.filter(({ owners }) => !namespace || owners.some(inNamespace)));
  if (collection === "owners") {
    return found(
      diagnosis.histories.find(({ kind, namespace, name }) => `${kind}/${namespace}/${name}` === names.join("/")),
    );
  }
  if (collection === "collisions") return list(diagnosis.collisions);
  if (collection === "denials") return list(answers.denials.filter(inNamespace));
  if (collection === "consistency") return { body: diagnosis.consistency };
  if (collection === "namespaces") return list(diagnosis.namespaces);
  if (collection === "check") return found(diagnosis.checks.find(({ mac }) => mac === query.get("mac")));
  return undefined;
}

describe("what kubectl macpool prints", () => {
  let cluster: ScriptedCluster;
  let folder: string;
  let kubeconfig: string;

  beforeAll(async () => {
    cluster = await ScriptedCluster.start({ rest });
    folder = await mkdtemp(join(tmpdir(), "macpool-golden-"));
    kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one")));
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const forPeople: readonly (readonly [string, readonly string[]])[] = [
    ["status", ["status"]],
    ["list", ["list", "-A"]],
    ["find", ["find", "02-5D-1C-00-00-A3"]],
    ["explain", ["explain", "web"]],
    ["explain-refused", ["explain", "vm/default/web-3"]],
    ["check", ["check", answers.FIRST]],
    ["check-accepted", ["check", "025d.1c00.00ff"]],
    ["collisions", ["collisions", "-A"]],
    ["denials", ["denials", "-A"]],
    ["doctor", ["doctor"]],
    ["namespaces", ["namespaces"]],
    ["map", ["map"]],
    ["map-zoomed", ["map", "--from", "02:5d:1c:00:00:00", "--to", "02:5d:1c:00:01:ff"]],
    ["ranges", ["ranges"]],
  ];

  it.each(forPeople)("%s: on terminals of any width, with and without colour, and into a pipe", async (name, argv) => {
    const texts = await onEveryTerminal(argv, (terminal) => macpool(kubeconfig, argv, { terminal }));
    await expect(texts).toMatchFileSnapshot(goldenPath(name));
  });

  it.each([
    ["status-wide", ["status", "-o", "wide"]],
    ["status-pool", ["status", "lab"]],
    ["list-wide", ["list", "-A", "-owide"]],
    ["list-namespace", ["list", "-n", "lab"]],
    ["denials-wide", ["denials", "-A", "-o", "wide"]],
    ["namespaces-wide", ["namespaces", "-o", "wide"]],
    ["find-shared", ["find", "02:00:00:00:00:01"]],
    ["find-quarantined", ["find", "02:5d:1c:00:01:4e"]],
    ["find-part", ["find", "5d:1c"]],
    ["find-elsewhere", ["find", "a-machine-with-a-name-that-is-longer-than-most"]],
    ["find-namespace", ["find", "lab"]],
    ["find-free", ["find", "02:5d:1c:00:00:ff"]],
    ["find-nothing", ["find", "ghost"]],
    ["help", ["--help"]],
    ["help-map", ["help", "map"]],
    ["help-check", ["help", "check"]],
    ["help-new-network", ["help", "new-network"]],
    ["help-preflight", ["help", "preflight"]],
  ] as const)("%s", async (name, argv) => {
    const ended = await macpool(kubeconfig, argv, { terminal: NARROW });
    await expect(transcript(argv, "80 columns", ended)).toMatchFileSnapshot(goldenPath(name));
  });

  it("ui: where the page is, until it is ended", async () => {
    const ended = new AbortController();
    const argv = ["ui", "--no-browser"];
    const told = await macpool(kubeconfig, argv, { signal: ended.signal, onPrint: () => ended.abort() });
    const stdout = told.stdout.replace(/127\.0\.0\.1:\d+\/[\w-]{43}\/\n/, "127.0.0.1:PORT/SECRET/\n");
    await expect(transcript(argv, "pipe", { ...told, stdout })).toMatchFileSnapshot(goldenPath("ui"));
  });

  it.each(COMMANDS)("help $name has examples of the command", ({ name, examples = [] }) => {
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(example).toMatch(new RegExp(`kubectl macpool ${name}( |\\)|$)`));
  });

  it.each(COMMANDS.map(({ name }) => name))("help %s fits 80 columns", async (name) => {
    const { exitCode, stdout } = await macpool(kubeconfig, ["help", name]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Usage: kubectl macpool ${name}`);
    expect((await macpool(kubeconfig, [name, "-h"])).stdout).toBe(stdout);
    const { stdout: overview } = await macpool(kubeconfig, []);
    const lines = [...stdout.split("\n"), ...overview.split("\n")];
    expect(lines.filter(({ length }) => length > 80)).toEqual([]);
  });

  it.each(forPeople.filter(([name]) => !/^(map|help|explain|check|find)/.test(name)))(
    "%s keeps to the width of the terminal",
    async (_, argv) => {
      for (const columns of [80, 100, 132]) {
        const { stdout } = await macpool(kubeconfig, argv, { terminal: { columns, colour: false, unicode: true } });
        expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
      }
    },
  );

  const forPrograms: readonly (readonly [readonly string[], unknown])[] = [
    [
      ["status"],
      {
        items: answers.pools.toReversed(),
        total: 2,
        problems: diagnosis.consistency.findings,
        collisions: diagnosis.collisions,
      },
    ],
    [["list", "-A"], { items: answers.claims, total: 3 }],
    [["find", answers.FIRST], { items: [answers.claims[1]], total: 1 }],
    [["explain", "web"], { ...diagnosis.histories[0], way: [] }],
    [["check", answers.FIRST], diagnosis.checks[1]],
    [["collisions", "-A"], { items: diagnosis.collisions, total: 3 }],
    [["denials", "-A"], { items: answers.denials, total: 2 }],
    [["doctor"], diagnosis.consistency],
    [["namespaces"], { items: diagnosis.namespaces, total: 2 }],
  ];

  it.each(forPrograms)(
    "%j prints what REST answered as json, yaml and by a template, whatever the terminal",
    async (argv, expected) => {
      const json = await macpool(kubeconfig, [...argv, "-o", "json"], { terminal: TINY });
      expect(JSON.parse(json.stdout)).toEqual(expected);
      const yaml = await macpool(kubeconfig, [...argv, "-oyaml"], { terminal: WIDE });
      expect(parse(yaml.stdout)).toEqual(expected);
      const whole = await macpool(kubeconfig, [...argv, "-o", "jsonpath={}"], { terminal: TINY });
      expect(JSON.parse(whole.stdout)).toEqual(expected);
      expect([json.stderr, yaml.stderr, whole.stderr]).toEqual(["", "", ""]);
    },
  );

  it.each([
    [["list", "-A"], "macclaim.macpool.network.kubevirt.io/mac-02-5d-1c-00-00-a3\n"],
    [["status"], "macpool.macpool.network.kubevirt.io/lab\n"],
    [["find", answers.FIRST], "macclaim.macpool.network.kubevirt.io/mac-02-5d-1c-00-00-a3\n"],
    [["explain", "web"], "virtualmachine.kubevirt.io/web\n"],
    [["denials", "-A"], "virtualmachine.kubevirt.io/web-3\n"],
    [["namespaces"], "namespace/lab\n"],
  ] as const)("%j prints names that kubectl takes", async (argv, line) => {
    const { stdout, exitCode } = await macpool(kubeconfig, [...argv, "-o", "name"]);
    expect(stdout).toContain(line);
    expect(exitCode).toBeLessThan(2);
  });

  it("leaves out the header of tables when asked", async () => {
    for (const argv of [["list", "-A"], ["denials", "-A"], ["namespaces"], ["collisions", "-A"], ["ranges"]]) {
      const [header = "", first] = (await macpool(kubeconfig, argv)).stdout.split("\n");
      expect(header).toMatch(/^[A-Z -]+$/);
      expect((await macpool(kubeconfig, [...argv, "--no-headers"])).stdout.split("\n")[0]?.trim()).not.toBe(header);
      expect(first).not.toBe("");
    }
  });
});
