import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "./support/share.ts";

/**
 * The house rules that a machine can read off the source: who may import whom, file names that say nothing, files that
 * grew past one noun. The layers are those of docs/explain/architecture.md.
 */

const root = join(import.meta.dirname, "..");
const MAX_LINES = 300;

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts", "*.tsx"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));

const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Layer {
  readonly folder: string;
  /** Folders and files of ours that this one may import besides itself. */
  readonly ours: readonly string[];
  /** npm packages it may import; undefined means any that package.json lists. */
  readonly packages?: readonly string[];
  /** Whether Node's own modules may be imported. */
  readonly node: boolean;
}

const products = ["operator", "mac-pool", "linux-bridge-webhook", "bridge-marker", "linux-bridge", "multus-sidecar"];

/** What inspection answers, and how a watch is read: what its product shares with the command line and the page. */
const INSPECTION_VIEWS = "src/mac-pool/inspection/rest/views.ts";
const INSPECTION_EVENTS = "src/mac-pool/inspection/rest/event-stream.ts";
const INSPECTION_ENVELOPES = "src/mac-pool/inspection/rest/envelopes.ts";
const INSPECTION_COLLISIONS = "src/mac-pool/inspection/rest/collision-views.ts";
const INSPECTION_CONSISTENCY = "src/mac-pool/inspection/rest/consistency-views.ts";
const INSPECTION_NETWORKS = "src/mac-pool/inspection/rest/network-views.ts";
const INSPECTION_PLACES = "src/mac-pool/inspection/rest/place-view.ts";

/** Pure tables and judgements of the products, by which the command line says before an installation what they will do. */
const BEFORE_INSTALLATION = [
  "src/operator/config/component-images.ts",
  "src/operator/config/validation.ts",
  "src/operator/manifests/labels.ts",
  "src/operator/watch/node-layout.ts",
  "src/operator/watch/programs.ts",
  "src/mac-pool/objects/listed-macs.ts",
];

const plugins = ["bridge", "tuning", "link-monitor"];
const pluginBase = ["cni-plugins/netlink", "cni-plugins/native", "src/api/names.ts", "src/api/node-state.ts"];

/** First match wins, so inner folders stand before the folder around them. */
const layers: readonly Layer[] = [
  { folder: "src/api", ours: [], packages: ["zod"], node: false },
  { folder: "src/kube", ours: [], node: true },
  { folder: "src/certs", ours: ["src/api", "src/kube"], node: true },
  { folder: "src/links", ours: ["src/api", "src/kube"], node: true },
  { folder: "src/mac-pool/claims/claim-store.ts", ours: ["src/api", "src/kube", "src/mac-pool/objects"], node: false },
  ...["claims", "pools"].map((name) => ({
    folder: `src/mac-pool/${name}`,
    ours: ["src/api", "src/mac-pool/claims", "src/mac-pool/pools"],
    packages: [],
    node: false,
  })),
  {
    folder: INSPECTION_VIEWS,
    ours: [
      "src/api",
      INSPECTION_COLLISIONS,
      INSPECTION_CONSISTENCY,
      INSPECTION_ENVELOPES,
      INSPECTION_NETWORKS,
      INSPECTION_PLACES,
    ],
    packages: ["zod"],
    node: false,
  },
  { folder: INSPECTION_COLLISIONS, ours: ["src/api", INSPECTION_PLACES], packages: ["zod"], node: false },
  { folder: INSPECTION_CONSISTENCY, ours: ["src/api"], packages: ["zod"], node: false },
  { folder: INSPECTION_NETWORKS, ours: [], packages: ["zod"], node: false },
  { folder: INSPECTION_PLACES, ours: [], packages: ["zod"], node: false },
  { folder: INSPECTION_EVENTS, ours: [], packages: [], node: false },
  { folder: INSPECTION_ENVELOPES, ours: [], packages: ["zod"], node: false },
  ...["installer", "agent"].map((story) => ({
    folder: `src/linux-bridge/${story}`,
    ours: ["src/api", "src/kube", "src/links", "src/linux-bridge/system-error.ts"],
    node: true,
  })),
  // The lint reads a configuration as the plugins do, with their parser.
  {
    folder: "src/nad-lint",
    ours: ["src/api", "cni-plugins/netlink", "cni-plugins/cni", "cni-plugins/bridge", "cni-plugins/tuning"],
    packages: ["ip-address"],
    node: false,
  },
  { folder: "src/linux-bridge-webhook", ours: ["src/api", "src/kube", "src/certs", "src/nad-lint"], node: true },
  { folder: "src/bridge-marker", ours: ["src/api", "src/kube", "src/certs", "src/links"], node: true },
  // Only what answers questions about networks reads their configurations.
  {
    folder: "src/mac-pool/inspection/queries",
    ours: ["src/api", "src/kube", "src/nad-lint", "src/mac-pool"],
    node: true,
  },
  ...products.map((name) => ({ folder: `src/${name}`, ours: ["src/api", "src/kube", "src/certs"], node: true })),
  {
    folder: "src/cli",
    ours: [
      "src/api",
      "src/kube/client",
      "src/kube/credentials",
      "src/nad-lint",
      INSPECTION_VIEWS,
      INSPECTION_EVENTS,
      "src/mac-pool/pools/segments.ts",
      ...BEFORE_INSTALLATION,
    ],
    node: true,
  },
  { folder: "src/web/build", ours: ["src/api"], node: true },
  { folder: "src/web", ours: ["src/api", INSPECTION_VIEWS, INSPECTION_EVENTS], node: false },
  { folder: "cni-plugins/netlink", ours: [], packages: [], node: false },
  { folder: "cni-plugins/cni", ours: pluginBase, packages: [], node: false },
  ...plugins.map((name) => ({
    folder: `cni-plugins/${name}`,
    ours: [...pluginBase, "cni-plugins/cni"],
    packages: [],
    node: false,
  })),
  { folder: "cni-plugins/build", ours: ["cni-plugins", "src/api/names.ts", "src/api/plugin-mark.ts"], node: true },
  { folder: "cni-plugins", ours: ["src/api/names.ts"], node: true },
  { folder: "deploy/image", ours: ["src/api", "src/web/build", "cni-plugins/build"], node: true },
  { folder: "deploy", ours: ["src", "cni-plugins/build"], node: true },
  // What stands in for the product's neighbours judges the product, so nothing of it is in there.
  { folder: "test/cluster/kubevirt", ours: ["test/cluster", "test/support"], node: true },
  { folder: "test/cluster/multus", ours: ["test/cluster", "test/support"], node: true },
];

const layerOf = (file: string): Layer | undefined =>
  layers.find(({ folder }) => file === folder || file.startsWith(`${folder}/`));

function importsOf(text: string): string[] {
  const specifiers: string[] = [];
  for (const match of text.matchAll(/^\s*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/gm)) {
    if (match[1] !== undefined) specifiers.push(match[1]);
  }
  for (const match of text.matchAll(/(?:^\s*import\s*|\bimport\s*\(\s*)["']([^"']+)["']/gm)) {
    if (match[1] !== undefined) specifiers.push(match[1]);
  }
  return specifiers;
}

function refusal(file: string, layer: Layer, specifier: string): string | undefined {
  if (specifier.startsWith(".")) {
    const target = normalize(join(dirname(file), specifier));
    const allowed = [layer.folder, ...layer.ours];
    if (allowed.some((place) => target === place || target.startsWith(`${place}/`))) return undefined;
    return `${file} imports ${target}: ${layer.folder} may import ${allowed.join(", ")}`;
  }
  if (specifier.startsWith("node:")) {
    return layer.node ? undefined : `${file} imports ${specifier}: ${layer.folder} is free of Node's modules`;
  }
  if (layer.packages === undefined) return undefined;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  return layer.packages.includes(name) ? undefined : `${file} imports the package ${name}`;
}

describe("the house", () => {
  it("imports point one way", () => {
    const refusals = files.flatMap((file) => {
      const layer = layerOf(file);
      if (layer === undefined) return [];
      return importsOf(read(file)).flatMap((specifier) => refusal(file, layer, specifier) ?? []);
    });
    expect(refusals).toEqual([]);
  });

  it("recognises a forbidden import", () => {
    const layer = layerOf("src/api/names.ts");
    expect(layer).toBeDefined();
    if (layer === undefined) return;
    const specifiers = importsOf('import { a } from "../kube/client.ts";\nimport fs from "node:fs";\nimport "pino";\n');
    expect(specifiers.map((specifier) => refusal("src/api/names.ts", layer, specifier) !== undefined)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("has no file that is named after nothing", () => {
    const grabBag = /^(utils?|helpers?|common|types|misc|shared|lib|constants|stuff)\.tsx?$/;
    expect(files.filter((file) => grabBag.test(basename(file)))).toEqual([]);
  });

  it("keeps a file to one noun", () => {
    const long = files
      .map((file) => ({ file, lines: read(file).split("\n").length - 1 }))
      .filter(({ lines }) => lines > MAX_LINES)
      .map(({ file, lines }) => `${file}: ${lines} lines`);
    expect(long).toEqual([]);
  });

  it("reads process.env in main.ts and in tools only", () => {
    const readers = files.filter(
      (file) =>
        file.startsWith("src/") &&
        !["main.ts", "build.ts"].includes(basename(file)) &&
        /\bprocess\.env\b/.test(read(file)),
    );
    expect(readers).toEqual([]);
  });

  it("loads fastify only in the process with a REST interface: the others must stay small", () => {
    const servers = files.filter(
      (file) =>
        file.startsWith("src/") && importsOf(read(file)).some((from) => from.endsWith("/server/http-server.ts")),
    );
    expect(servers).toEqual(["src/mac-pool/listeners.ts"]);
  });

  it("ends relative imports in .ts", () => {
    const bare = files.flatMap((file) =>
      importsOf(read(file))
        .filter((specifier) => specifier.startsWith(".") && !/\.(ts|tsx|json)$/.test(specifier))
        .map((specifier) => `${file}: ${specifier}`),
    );
    expect(bare).toEqual([]);
  });

  it("names files that are there in what people read", () => {
    const pages = execFileSync("git", ["ls-files", "README.md", "docs/*.md"], { cwd: root, encoding: "utf8" });
    const gone = pages
      .split("\n")
      .filter((page) => page !== "" && existsSync(join(root, page)))
      .flatMap((page) =>
        [...read(page).matchAll(/`((?:src|cni-plugins|deploy|test)\/[\w./-]+)`/g)]
          .filter(([, path = ""]) => !existsSync(join(root, path)))
          .map(([, path]) => `${page}: ${path}`),
      );
    expect(gone).toEqual([]);
  });

  it("leaves files to CI that are there", () => {
    expect(LEFT_TO_CI.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("names decisions that are there, and has each in the index", () => {
    const folder = "docs/decisions";
    const records = readdirSync(join(root, folder)).filter((name) => /^\d{3}-/.test(name));
    const numbers = new Set(records.map((name) => name.slice(0, 3)));
    const pattern = "decisions/[0-9]{3}(-[-a-z0-9]*\\.md)?";
    const named = execFileSync("git", ["grep", "-oIE", pattern], { cwd: root, encoding: "utf8" });
    const isThere = (name = "") => numbers.has(name) || records.includes(name);
    expect(named.split("\n").filter((line) => line !== "" && !isThere(line.split("decisions/").at(-1)))).toEqual([]);
    const index = read(`${folder}/README.md`);
    expect(records.filter((name) => !index.includes(`(${name})`))).toEqual([]);
    const gone = new Set([...read(`${folder}/withdrawn.md`).matchAll(/^\| (\d{3}) /gm)].map(([, number]) => number));
    const wrong = records.flatMap((name) =>
      [...read(`${folder}/${name}`).matchAll(/(?<![\d.,])0\d\d(?!\d)/g)]
        .filter(([number]) => !numbers.has(number) && !gone.has(number))
        .map(([number]) => `${name}: ${number}`),
    );
    expect(wrong).toEqual([]);
  });
});
