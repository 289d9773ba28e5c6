import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

/** Bundles the plugin into dist/kubectl-macpool.js: one file that runs with any Node from 20 on, put into PATH by itself. */
const root = join(import.meta.dirname, "../..");
const outfile = join(root, "dist", "kubectl-macpool.js");

await build({
  entryPoints: [join(root, "src/cli/main.ts")],
  outfile,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  minifySyntax: true,
  legalComments: "none",
  banner: { js: "#!/usr/bin/env node" },
  logLevel: "warning",
});
await chmod(outfile, 0o755);
