import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import { PAGE_FOLDER } from "../../api/image.ts";

/**
 * Bundles the inspection page: one script, one style sheet, the document that names them, and its icon. File names stay the
 * same from version to version, so a document of one replica works with a script of another during a rolling update.
 */

export interface Page {
  /** By name. The page has no folders. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Source files that have code in it, relative to the repository. */
  readonly sources: readonly string[];
}

const ROOT = path.resolve(import.meta.dirname, "../../..");
const WEB = path.join(ROOT, "src/web");
/** What has no need of a bundler. */
const PLAIN_FILES = ["index.html", "icon.svg"];

export async function bundlePage(): Promise<Page> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { page: "src/web/main.tsx", style: "src/web/style/page.css" },
    outdir: "page",
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome123", "firefox128", "safari18"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    logLevel: "silent",
    write: false,
    metafile: true,
  });
  const plain = PLAIN_FILES.map(async (name) => [name, await readFile(path.join(WEB, name))] as const);
  const bundled = outputFiles.map(({ path: file, contents }) => [path.basename(file), Buffer.from(contents)] as const);
  return { files: new Map([...bundled, ...(await Promise.all(plain))]), sources: Object.keys(metafile.inputs).sort() };
}

/** Writes the page to where a process that runs from the sources reads it, meanwhile too. Returns the folder. */
export async function writePage(): Promise<string> {
  const folder = path.join(ROOT, PAGE_FOLDER);
  const { files } = await bundlePage();
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(`${folder}.`);
  try {
    for (const [name, content] of files) {
      await writeFile(path.join(temporary, name), content);
      await rename(path.join(temporary, name), path.join(folder, name));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return folder;
}

if (import.meta.main) console.log(await writePage());
