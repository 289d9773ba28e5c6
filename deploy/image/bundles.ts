/**
 * The product as its image holds it: a bundle for each process, what they share in chunks, by esbuild. They have no comments and
 * little white space, because V8 keeps the text. Names stay, so stack traces name functions; `node --enable-source-maps`
 * turns their places into those of the source.
 * Beside them lie the files of the inspection page.
 */

import path from "node:path";
import { build, type Plugin } from "esbuild";
import type { Arch } from "../../cni-plugins/build/toolchain.ts";
import { CSV_GENERATOR_BUNDLE, entryPoint, IMAGE_PROCESSES, PAGE_FOLDER } from "../../src/api/image.ts";
import { bundlePage } from "../../src/web/build/build.ts";
import { refuseWide, smallerPackages } from "./footprint.ts";
import { file, type Tree } from "./tree.ts";

export interface Bundles {
  /** Paths relative to the image's root. */
  readonly tree: Tree;
  /** Source files that have code in them, relative to the repository. */
  readonly sources: readonly string[];
}

const ROOT = path.resolve(import.meta.dirname, "../..");
const NODE_ARCH: Readonly<Record<Arch, string>> = { amd64: "x64", arm64: "arm64" };

/** What CommonJS packages expect to be there. */
const COMMON_JS = `import { createRequire } from "node:module";
const require = createRequire(import.meta.url), __dirname = import.meta.dirname;`;

export async function bundleProcesses(arch: Arch): Promise<Bundles> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...IMAGE_PROCESSES.map(entryPoint), CSV_GENERATOR_BUNDLE].map((bundle) => {
      const out = bundle.slice(0, -".js".length);
      return { in: `${out}.ts`, out };
    }),
    outdir: "app",
    // As deep as the processes: a `require` of the native part is relative to a process and runs in a chunk.
    chunkNames: "src/chunks/[name]-[hash]",
    assetNames: "native/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    minifyWhitespace: true,
    charset: "ascii",
    banner: { js: COMMON_JS },
    loader: { ".node": "copy" },
    plugins: [podsHaveNoKubeconfig, ...smallerPackages, nativePart(arch)],
    logLevel: "silent",
    write: false,
    metafile: true,
  });
  const tree = new Map([["package.json", file('{"type":"module"}\n')]]);
  for (const { path: name, contents, text } of outputFiles) {
    const { inputs = {} } = metafile.outputs[path.relative(ROOT, name)] ?? {};
    if (name.endsWith(".js")) await refuseWide(text, Object.keys(inputs), ROOT);
    tree.set(path.relative(path.join(ROOT, "app"), name), file(Buffer.from(contents)));
  }
  const page = await bundlePage();
  for (const [name, content] of page.files) tree.set(`${PAGE_FOLDER}/${name}`, file(content));
  return { tree, sources: [...new Set([...Object.keys(metafile.inputs), ...page.sources])].sort() };
}

/** A pod has a service account. What reads kubeconfigs is 1 MB of packages for people at a terminal. */
const podsHaveNoKubeconfig: Plugin = {
  name: "pods-have-no-kubeconfig",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/kube\/credentials\/kubeconfig-credentials\.ts$/ }, () => ({ contents: NO_KUBECONFIG }));
  },
};

const NO_KUBECONFIG = `
function refuse() {
  throw new Error("The image does not read kubeconfigs: run it as a pod with a service account, and unset KUBECONFIG.");
}
export { refuse as credentialsFromFiles, refuse as credentialsFromText };
`;

/** The package netlink finds its native part by looking through folders. Here it is the one of the image's architecture. */
function nativePart(arch: Arch): Plugin {
  const binding = path.join(ROOT, `node_modules/netlink/prebuilds/linux-${NODE_ARCH[arch]}/node.napi.node`);
  return {
    name: "native-part",
    setup({ onLoad, onResolve }) {
      // A path of this machine in the text would move columns in the source map.
      onLoad({ filter: /\/node_modules\/node-gyp-build\/index\.js$/ }, () => ({
        contents: 'module.exports = () => require("native-part");',
      }));
      onResolve({ filter: /^native-part$/ }, () => ({ path: binding }));
    },
  };
}
