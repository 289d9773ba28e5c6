import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseAllDocuments } from "yaml";
import { CliError } from "./faults.ts";

/** Objects of files, as `kubectl apply -f` reads them. */

export interface Manifest {
  /** The file; `-` for stdin. */
  readonly source: string;
  readonly object: unknown;
}

const EXTENSIONS = /\.(ya?ml|json)$/;
const STDIN = "-";

/** Of files, of the files of directories, and of stdin. Throws a `CliError` with the file for what can't be read. */
export async function readManifests(paths: readonly string[], stdin: NodeJS.ReadableStream): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for (const path of paths) {
    if (path === STDIN) manifests.push(...parseManifests(path, await text(stdin)));
    else
      for (const file of await filesOf(path))
        manifests.push(...parseManifests(file, await readable(file, readFile(file, "utf8"))));
  }
  return manifests;
}

async function filesOf(path: string): Promise<string[]> {
  if (!(await readable(path, stat(path))).isDirectory()) return [path];
  const names = (await readable(path, readdir(path))).filter((name) => EXTENSIONS.test(name)).sort();
  if (names.length === 0) throw new CliError(`${path} has no files that end in .yaml, .yml or .json`);
  return names.map((name) => join(path, name));
}

async function readable<T>(path: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(`${path} can't be read: ${code === "ENOENT" ? "no such file or directory" : message}`, {
      cause: error,
    });
  }
}

/** Documents of YAML, which JSON is too. Lists are taken apart. */
function parseManifests(source: string, content: string): Manifest[] {
  try {
    return parseAllDocuments(content).flatMap((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return itemsOf(document.toJS()).map((object) => ({ source, object }));
    });
  } catch (error) {
    const [sentence = ""] = (error instanceof Error ? error.message : String(error)).split(/:?\n/);
    throw new CliError(`${source} is not YAML: ${sentence}`, { cause: error });
  }
}

function itemsOf(object: unknown): readonly unknown[] {
  const { kind, items } = (object ?? {}) as { readonly kind?: unknown; readonly items?: unknown };
  return typeof kind === "string" && kind.endsWith("List") && Array.isArray(items) ? items : [object];
}
