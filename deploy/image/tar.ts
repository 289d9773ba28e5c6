/** A tar archive that depends on its entries alone: sorted, owned by root, all of one time. POSIX ustar, pax for long names. */

import type { Entry, Tree } from "./tree.ts";

const BLOCK = 512;
const NAME_BYTES = 100;
const TYPES = { file: "0", link: "2", directory: "5", pax: "x" } as const;

interface Header {
  readonly name: string;
  readonly type: keyof typeof TYPES;
  readonly mode: number;
  readonly size: number;
  readonly target: string;
  readonly timeS: number;
}

export function tar(tree: Tree, timeS: number): Buffer {
  const chunks: Buffer[] = [];
  for (const [name, entry] of withFolders(tree)) chunks.push(...entryBlocks(name, entry, timeS));
  chunks.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(chunks);
}

/** A folder stands before what is in it, with nothing between: tar sets the folder's time when it has left it. */
function withFolders(tree: Tree): [string, Entry][] {
  const all = new Map(tree);
  for (const name of tree.keys()) {
    for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
      const folder = name.slice(0, end);
      if (!all.has(folder)) all.set(folder, { kind: "directory", mode: 0o755 });
    }
  }
  const key = (name: string): string => name.replaceAll("/", "\0");
  return [...all].sort(([one], [other]) => (key(one) < key(other) ? -1 : 1));
}

function entryBlocks(name: string, entry: Entry, timeS: number): Buffer[] {
  const content = entry.kind === "file" ? entry.content : Buffer.alloc(0);
  const header: Header = {
    name: entry.kind === "directory" ? `${name}/` : name,
    type: entry.kind,
    mode: entry.kind === "link" ? 0o777 : entry.mode,
    size: content.length,
    target: entry.kind === "link" ? entry.target : "",
    timeS,
  };
  return [...longNames(header), headerBlock(header), content, padding(content.length)];
}

function longNames(header: Header): Buffer[] {
  const records = Object.entries({ path: header.name, linkpath: header.target })
    .filter(([, value]) => Buffer.byteLength(value) > NAME_BYTES)
    .map(([key, value]) => paxRecord(key, value));
  if (records.length === 0) return [];
  const content = Buffer.from(records.join(""));
  const pax = { ...header, name: "pax", type: "pax", mode: 0o644, size: content.length, target: "" } as const;
  return [headerBlock(pax), content, padding(content.length)];
}

/** `LENGTH key=value`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${rest}`;
}

function headerBlock({ name, type, mode, size, target, timeS }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number): void => {
    block.write(value.toString(8).padStart(length - 1, "0"), offset, "latin1");
  };
  Buffer.from(name).copy(block, 0, 0, NAME_BYTES);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(timeS, 136, 12);
  block.write(TYPES[type], 156);
  Buffer.from(target).copy(block, 157, 0, NAME_BYTES);
  block.write("ustar\x0000", 257, "latin1");
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
