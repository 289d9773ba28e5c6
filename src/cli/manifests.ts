import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type Document,
  isCollection,
  isNode,
  isScalar,
  LineCounter,
  type Node,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  visit,
  type YAMLMap,
  YAMLParseError,
} from "yaml";
import { NETWORK_ATTACHMENT_DEFINITIONS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "../api/kinds.ts";
import { RESOURCES } from "../kube/client/resource.ts";
import { CliError } from "./faults.ts";
import { type Misreading, misreadingsIn } from "./yaml-misreadings.ts";

/** Objects of files, as `kubectl apply -f` reads them. */

export interface Manifest {
  /** The file; `-` for stdin. */
  readonly source: string;
  /** Its number in the file, from 1. The items of a list have one. */
  readonly document: number;
  /** Its index in the list that the document is. */
  readonly item?: number;
  readonly object: unknown;
  readonly misreadings: readonly Misreading[];
}

export interface ManifestLimits {
  /** Of all files together. */
  readonly bytes: number;
  readonly documents: number;
  readonly documentBytes: number;
}

/** Kinds whose spec commands read. */
const LOOKED_AT: readonly unknown[] = [
  NETWORK_ATTACHMENT_DEFINITIONS,
  VIRTUAL_MACHINES,
  VIRTUAL_MACHINE_INSTANCES,
  RESOURCES.pods,
].map(({ kind }) => kind);

const EXTENSIONS = /\.(ya?ml|json)$/;
const STDIN = "-";
/** Wherever such a line stands, a document ends. */
const DOCUMENT_START = /^---(?=\s|$)/m;
/** A map may have several of these. */
const MERGE = "<<";
const MIB = 1024 * 1024;
/** What is deeper than any object would take the whole stack of what reads it. */
const MAX_LEVELS = 200;
const TOO_DEEP = `is nested too deeply: an object has ${MAX_LEVELS} levels at most`;

/** The package compares each key of a map with all others, which takes minutes for a map of 1 MiB; `repeatedKey` looks at each once. */
const WITHOUT_COMPARING = { uniqueKeys: false };

/** A number with an exponent has a sign there: `12e3` is text. */
const EXPONENT = /^[-+]?[0-9]*\.?[0-9]+[eE][-+][0-9]+$/;

/** kubectl reads YAML 1.1, but takes neither `1:30` nor `2001-12-14` for anything else than text. */
const AS_KUBECTL = {
  version: "1.1",
  customTags: (tags: Tags): Tags =>
    tags
      .filter((tag) => typeof tag === "string" || (tag.format !== "TIME" && tag.tag !== "tag:yaml.org,2002:timestamp"))
      .map((tag) =>
        typeof tag === "object" && tag.format === "EXP" ? ({ ...tag, test: EXPONENT } as ScalarTag) : tag,
      ),
} as const;

/**
 * Of files, of the files of directories, and of stdin. Throws a `CliError` with the file for what can't be read, or is more than
 * the limits allow.
 */
export async function readManifests(
  paths: readonly string[],
  stdin: NodeJS.ReadableStream,
  limits?: ManifestLimits,
): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  const budget = new Budget(limits);
  const read = async (source: string, stream: NodeJS.ReadableStream): Promise<void> => {
    const content = await readable(source, budget.read(source, stream));
    budget.admit(source, content);
    const parsed = parseManifests(source, content);
    for (const manifest of parsed) manifests.push(manifest);
    budget.admitObjects(source, manifests.length);
    for (const manifest of parsed) expectObject(manifest);
  };
  for (const path of paths) {
    if (path === STDIN) await read(path, stdin);
    else for (const file of await filesOf(path)) await read(file, createReadStream(file));
  }
  return manifests;
}

/** What is left of the limits. */
class Budget {
  readonly #limits: ManifestLimits | undefined;
  #bytes = 0;
  #documents = 0;

  constructor(limits: ManifestLimits | undefined) {
    this.#limits = limits;
  }

  async read(source: string, stream: NodeJS.ReadableStream): Promise<string> {
    const parts: Buffer[] = [];
    for await (const part of stream) {
      const bytes = Buffer.from(part as Buffer);
      this.#bytes += bytes.length;
      const { bytes: most = Number.POSITIVE_INFINITY } = this.#limits ?? {};
      if (this.#bytes > most) throw this.#tooMuch(source, `the files have more than ${most / MIB} MiB`);
      parts.push(bytes);
    }
    return Buffer.concat(parts).toString("utf8");
  }

  admit(source: string, content: string): void {
    if (this.#limits === undefined) return;
    const { documents, documentBytes } = this.#limits;
    const texts = content.split(DOCUMENT_START).filter((text) => text.trim() !== "");
    this.#documents += texts.length;
    if (this.#documents > documents) throw this.#tooMuch(source, `the files have more than ${documents} documents`);
    if (texts.some((text) => Buffer.byteLength(text) > documentBytes)) {
      throw this.#tooMuch(source, `a document has more than ${documentBytes / MIB} MiB`);
    }
  }

  admitObjects(source: string, count: number): void {
    const most = this.#limits?.documents ?? Number.POSITIVE_INFINITY;
    if (count > most) throw this.#tooMuch(source, `the files have more than ${most} objects`);
  }

  #tooMuch(source: string, what: string): CliError {
    return new CliError(`${source} is too much: ${what}. Check it in parts.`);
  }
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
    if (error instanceof CliError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(`${path} can't be read: ${code === "ENOENT" ? "no such file or directory" : message}`, {
      cause: error,
    });
  }
}

/** Names of the Namespaces among them. */
export function namespacesIn(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap(({ object }) => {
    const { kind, metadata } = (object ?? {}) as {
      readonly kind?: unknown;
      readonly metadata?: { readonly name?: unknown } | null;
    };
    return kind === "Namespace" ? String(metadata?.name) : [];
  });
}

/** Documents of YAML, which JSON is too. Lists are taken apart. */
function parseManifests(source: string, content: string): Manifest[] {
  try {
    const lines = new LineCounter();
    return parseAllDocuments(content, { ...AS_KUBECTL, ...WITHOUT_COMPARING, lineCounter: lines }).flatMap(
      (document, index) => {
        const [error] = document.errors;
        if (error !== undefined) throw error;
        const fault = faultOfCollections(document, lines);
        if (fault !== undefined) throw fault;
        return itemsOf(document).map(({ node, ...item }) => {
          return { source, document: index + 1, ...item, misreadings: misreadingsIn(node, lines) };
        });
      },
    );
  } catch (error) {
    if (isExhausted(error)) throw new CliError(`${source} ${TOO_DEEP}`, { cause: error });
    const [sentence = ""] = (error instanceof Error ? error.message : String(error)).split(/:?\n/);
    throw new CliError(`${source} is not YAML: ${sentence}`, { cause: error });
  }
}

/** The package tells of a stack that is full by an error of its own, too. */
function isExhausted(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof YAMLParseError && error.code === "RESOURCE_EXHAUSTION");
}

/** What a map has twice, or what is nested too deeply. */
function faultOfCollections(document: Document.Parsed, lines: LineCounter): Error | undefined {
  let fault: Error | undefined;
  const found = (error: Error): symbol => {
    fault = error;
    return visit.BREAK;
  };
  const isTooDeep = (path: readonly unknown[]): boolean => path.filter(isCollection).length >= MAX_LEVELS;
  visit(document, {
    Seq: (_, __, path) => (isTooDeep(path) ? found(new RangeError(TOO_DEEP)) : undefined),
    Map: (_, map, path) => {
      if (isTooDeep(path)) return found(new RangeError(TOO_DEEP));
      const repeated = repeatedKey(map, lines);
      return repeated === undefined ? undefined : found(new Error(repeated));
    },
  });
  return fault;
}

/** The first key that a map has twice, in a sentence. */
function repeatedKey({ items }: YAMLMap, lines: LineCounter): string | undefined {
  const keys = new Set<unknown>();
  for (const { key } of items) {
    const value = isScalar(key) ? key.value : key;
    if (keys.has(value) && value !== MERGE) {
      const { line, col } = lines.linePos((isNode(key) ? key.range?.[0] : undefined) ?? 0);
      return `Map keys must be unique at line ${line}, column ${col}`;
    }
    keys.add(value);
  }
  return undefined;
}

interface Item extends Pick<Manifest, "object" | "item"> {
  readonly node: Node | null;
}

function itemsOf(document: Document.Parsed): readonly Item[] {
  const object: unknown = document.toJS();
  const items = isMap(object) && isList(object) ? object.items : undefined;
  if (!Array.isArray(items)) return [{ object, node: document.contents }];
  return items.map((item, index) => {
    const node = document.getIn(["items", index], true);
    return { object: item, item: index, node: isNode(node) ? node : null };
  });
}

type Fields = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** Some kinds end in List and have no items. */
const isList = ({ kind, ...object }: Fields): boolean =>
  kind === "List" || (typeof kind === "string" && kind.endsWith("List") && "items" in object);

/** A document may be empty, an item may not. Throws a `CliError` for what is no object, or not one of a kind that is looked at. */
function expectObject({ source, document, item, object }: Manifest): void {
  if (object === null && item === undefined) return;
  const fault = isMap(object)
    ? faultOfFields(object)
    : `is ${shown(object)}, and no object: write apiVersion, kind and metadata`;
  if (fault === undefined) return;
  const place = item === undefined ? "" : `: items[${item}]`;
  throw new CliError(`${source}, document ${document}${place} ${fault}`);
}

function faultOfFields(object: Fields): string | undefined {
  if (isList(object)) return `is a ${object.kind} whose items are ${shown(object.items)}: write a list of objects`;
  const fields = LOOKED_AT.includes(object.kind) ? ["metadata", "spec"] : ["metadata"];
  const wrong = fields.find((name) => (object[name] ?? null) !== null && !isMap(object[name]));
  return wrong && `has ${shown(object[wrong])} for its ${wrong}: write a map of fields`;
}

const MAX_SHOWN = 40;

function shown(value: unknown): string {
  if (value === undefined) return "not there";
  if (Array.isArray(value)) return "a list";
  return isMap(value) ? "a map" : JSON.stringify(value).slice(0, MAX_SHOWN);
}
