import path from "node:path";
import { beforeAll, expect, it } from "vitest";
import { bundleProcesses } from "../../../deploy/image/bundles.ts";
import type { Tree } from "../../../deploy/image/tree.ts";
import { entryPoint, type ImageProcess } from "../../../src/api/image.ts";

/** The operator has the definitions, the MAC pool its REST interface. */
const WITHOUT_SCHEMAS: readonly ImageProcess[] = [
  "bridge-marker",
  "linux-bridge",
  "multus-sidecar",
  "certs",
  "linux-bridge-webhook",
];

/** The files of a bundle that are read when its process starts. */
function loaded(tree: Tree, file: string, seen = new Set<string>()): Set<string> {
  const entry = tree.get(file);
  if (seen.has(file) || entry?.kind !== "file") return seen;
  seen.add(file);
  for (const [, imported = ""] of String(entry.content).matchAll(/(?:^|[;}])(?:import|from)"(\.[^"]+)"/gm)) {
    loaded(tree, path.join(path.dirname(file), imported), seen);
  }
  return seen;
}

/** What a file of the tree was made of. */
function sourcesOf(tree: Tree, file: string): string[] {
  const map = tree.get(`${file}.map`);
  return map?.kind === "file" ? JSON.parse(String(map.content)).sources : [];
}

let tree: Tree;
let sources: readonly string[];

beforeAll(async () => {
  ({ tree, sources } = await bundleProcesses("amd64"));
});

it("no process loads schemas that has none", () => {
  const withSchemasIn = (files: ReadonlySet<string>) =>
    [...files].filter((name) => sourcesOf(tree, name).some((one) => one.includes("/zod/")));
  expect(withSchemasIn(loaded(tree, entryPoint("operator")))).toHaveLength(1);
  for (const process of WITHOUT_SCHEMAS) {
    const files = loaded(tree, entryPoint(process));
    expect(files.size, process).toBeGreaterThan(3);
    expect(withSchemasIn(files), process).toEqual([]);
  }
});

it("holds of zod what schemas use: `import { z }` would take all of it", () => {
  const made = [...tree.keys()].flatMap((name) => sourcesOf(tree, name));
  const part = (name: string) => made.filter((source) => source.endsWith(`/zod/v4/classic/${name}.js`)).length;
  expect({ schemas: part("schemas"), fromJson: part("from-json-schema") }).toEqual({ schemas: 1, fromJson: 0 });
});

it("holds of the packages for metrics and logs what processes use, and nothing that starts threads", () => {
  const parts = (name: string) =>
    sources.filter((source) => source.includes(`/${name}/`)).map((source) => source.split(`/${name}/`)[1]);
  expect(parts("prom-client")).toEqual(
    expect.arrayContaining(["lib/registry.js", "lib/counter.js", "lib/gauge.js", "lib/histogram.js"]),
  );
  expect(
    parts("prom-client").filter((part) => /cluster|pushgateway|efaultMetrics|summary|metrics\//.test(part ?? "")),
  ).toEqual([]);
  expect(sources.filter((source) => source.includes("worker"))).toEqual(["main-thread:worker_threads"]);
});

it("holds nothing for schemas, patterns, versions and proxies of routes, and no library for certificates", () => {
  const name =
    /\/node_modules\/(ajv|fast-json-stringify\/index|light-my-request\/lib|@peculiar|asn1js|reflect-metadata|semver\/classes|ret|ipaddr\.js)\b/;
  expect(sources.filter((source) => name.test(`/${source}`))).toEqual([]);
  expect(sources.filter((source) => source.includes("/fastify/")).length).toBeGreaterThan(10);
});

it("holds nothing that reads kubeconfigs: a pod has a service account", () => {
  expect(sources.filter((source) => source.includes("/@kubernetes/client-node/"))).toEqual([]);
});

it("holds text that takes one byte a character in memory, in one language", () => {
  const wide = [...tree].filter(
    ([name, entry]) => name.endsWith(".js") && entry.kind === "file" && entry.content.some((byte) => byte > 0x7f),
  );
  expect(wide.map(([name]) => name).filter((name) => name.startsWith("src/"))).toEqual([]);
  const languages = sources.filter((source) => source.includes("/zod/v4/locales/"));
  expect(languages.filter((source) => !/\/(en|index)\.js$/.test(source))).toEqual([]);
});
