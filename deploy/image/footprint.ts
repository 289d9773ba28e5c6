/**
 * What makes processes of the image smaller in memory when they are bundled: parts of packages that none of them uses, and text
 * in one byte a character. What makes them smaller when they run, V8's flags and glibc's variables, is in `src/api/image.ts`,
 * because the operator writes it into pods. Figures: docs/decisions/013.
 */

import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Plugin } from "esbuild";

/** With zod come its messages in 50 languages: 300 KB of text that every process would load. */
const faultsInEnglish: Plugin = {
  name: "faults-in-english",
  setup({ onLoad }) {
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "export {};" }));
  },
};

/** pino can write through a worker thread. No process does, and each would load what is needed for one. */
const logsWithoutThread: Plugin = {
  name: "logs-without-thread",
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\/node_modules\/thread-stream\/index\.js$/ }, () => ({ contents: NO_THREAD }));
    onResolve({ filter: /^worker_threads$/ }, ({ importer, path: name }) =>
      importer.includes("/node_modules/pino/") ? { path: name, namespace: "main-thread" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "main-thread" }, () => ({
      contents: "module.exports = { isMainThread: true };",
    }));
  },
};

const NO_THREAD = `
module.exports = class {
  constructor() {
    throw new Error("The processes of the image write their logs themselves, not through a thread.");
  }
};
`;

/** The index of prom-client loads cluster, push gateway and default collectors, 9 MB. */
const metricsByParts: Plugin = {
  name: "metrics-by-parts",
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/prom-client\/index\.js$/ }, ({ path: index }) => ({
      contents: METRICS,
      resolveDir: path.dirname(index),
    }));
  },
};

const METRICS = ["Registry", "Counter", "Gauge", "Histogram"]
  .map((name) => `exports.${name} = require("./lib/${name.toLowerCase()}");`)
  .join("\n");

/** Routes of the image have no schemas for fastify. What compiles schemas, and what tests call routes with, is 1 MB of text. */
const routesWithoutSchemas: Plugin = {
  name: "routes-without-schemas",
  setup({ onLoad }) {
    const packages =
      /\/node_modules\/(@fastify\/(ajv-compiler|fast-json-stringify-compiler)|light-my-request)\/index\.js$/;
    onLoad({ filter: packages }, () => ({ contents: NO_SCHEMAS }));
  },
};

const NO_SCHEMAS = `
module.exports = () => () => {
  throw new Error("Routes of the image have no schemas for fastify.");
};
`;

/**
 * fastify compares versions of plugins that declare one, reads addresses that a proxy tells, and has patterns in paths examined.
 * No route of the image has any of these. In memory they are 0.5 MB.
 */
const routesWithoutExtras: Plugin = {
  name: "routes-without-extras",
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/(semver|@fastify\/proxy-addr)\/index\.js$/ }, () => ({ contents: NO_EXTRAS }));
    onLoad({ filter: /\/node_modules\/safe-regex2\/index\.js$/ }, () => ({ contents: "module.exports = () => true;" }));
  },
};

const NO_EXTRAS = `
const refuse = () => {
  throw new Error("Routes of the image have no plugins with versions, and no proxy.");
};
module.exports = { satisfies: refuse, coerce: refuse, gt: refuse, compile: refuse, all: refuse };
`;

export const smallerPackages: readonly Plugin[] = [
  faultsInEnglish,
  logsWithoutThread,
  metricsByParts,
  routesWithoutSchemas,
  routesWithoutExtras,
];

const WIDE = /[^\p{ASCII}]+/u;
const COMMENT = /^\s*(\/\/|\/?\*)/;

/**
 * V8 keeps a bundle in one byte a character, or with one character beyond Latin-1 all of it in two. esbuild has escaped those of
 * strings and names. What is left, as in a regular expression, throws with its place in `sources`, which are relative to `root`.
 */
export async function refuseWide(text: string, sources: readonly string[], root: string): Promise<void> {
  const [wide] = WIDE.exec(text) ?? [];
  if (wide === undefined) return;
  throw new Error(
    `${await placeOf(wide, sources, root)}: "${wide}" is outside of strings and comments. Bundles are ASCII: write it as ${escaped(wide)}.`,
  );
}

async function placeOf(wide: string, sources: readonly string[], root: string): Promise<string> {
  for (const source of sources) {
    const lines = (await readFile(path.join(root, source), "utf8").catch(() => "")).split("\n");
    const line = lines.findIndex((one) => one.includes(wide) && !COMMENT.test(one));
    if (line >= 0) return `${source}:${line + 1}`;
  }
  return `One of ${sources.join(", ")}`;
}

/** By UTF-16 units, as every regular expression and template takes them. */
const escaped = (wide: string): string =>
  wide.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
