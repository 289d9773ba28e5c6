/** The archive that a kernel unpacks as its first file system: cpio in the "newc" format, which Linux documents. */

export type InitramfsEntry =
  | { readonly path: string; readonly kind: "directory" }
  | { readonly path: string; readonly kind: "file"; readonly content: Buffer; readonly executable?: boolean }
  | { readonly path: string; readonly kind: "console" };

const MAGIC = "070701";
const END = "TRAILER!!!";
const ALIGNMENT = 4;

const DIRECTORY = 0o040755;
const FILE = 0o100644;
const EXECUTABLE = 0o100755;
const CHARACTER_DEVICE = 0o020600;
/** /dev/console has the same numbers on every Linux. */
const CONSOLE_NUMBERS = [5, 1] as const;

/** Each directory must come before what is in it. */
export function initramfs(entries: readonly InitramfsEntry[]): Buffer {
  const records = entries.map((entry, index) => record(entry.path, index + 1, attributes(entry)));
  return Buffer.concat([...records, record(END, 0, { mode: 0 })]);
}

interface Attributes {
  readonly mode: number;
  readonly content?: Buffer;
  readonly device?: readonly [major: number, minor: number];
}

function attributes(entry: InitramfsEntry): Attributes {
  switch (entry.kind) {
    case "directory":
      return { mode: DIRECTORY };
    case "console":
      return { mode: CHARACTER_DEVICE, device: CONSOLE_NUMBERS };
    case "file":
      return { mode: entry.executable === true ? EXECUTABLE : FILE, content: entry.content };
  }
}

function record(path: string, inode: number, { mode, content = Buffer.alloc(0), device = [0, 0] }: Attributes): Buffer {
  const name = Buffer.from(`${path}\0`);
  const [uid, gid, links, time, checksum] = [0, 0, 1, 0, 0];
  const file = [inode, mode, uid, gid, links, time, content.length];
  const numbers = [...file, 0, 0, ...device, name.length, checksum];
  const header = Buffer.from(MAGIC + numbers.map((number) => number.toString(16).padStart(8, "0")).join(""));
  return Buffer.concat([padded(Buffer.concat([header, name])), padded(content)]);
}

function padded(bytes: Buffer): Buffer {
  const missing = (ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT;
  return Buffer.concat([bytes, Buffer.alloc(missing)]);
}
