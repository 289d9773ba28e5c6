/**
 * What a guest is made of, all of it unpacked Debian packages: QEMU, a kernel that boots fast under emulation, the driver
 * of its NIC, and a busybox. QEMU is bookworm's backport: bookworm's own 7.2 crashes some kernels.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { zstdDecompressSync } from "node:zlib";
import { BACKPORTS, DebianIndex } from "../tools/debian/index.ts";
import { unpackOnce } from "../tools/debian/packages.ts";

/** The archive that a kernel unpacks as its first file system: cpio in the "newc" format, which Linux documents. */

type InitramfsEntry =
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
function initramfs(entries: readonly InitramfsEntry[]): Buffer {
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

/**
 * The kernel out of a bzImage (the x86 boot protocol's format), as an ELF file. QEMU starts that directly: the boot code
 * that decompresses the kernel takes several seconds where every instruction is emulated.
 */

const SECTOR_BYTES = 512;
const SETUP_SECTORS = 0x1f1;
const DEFAULT_SETUP_SECTORS = 4;
const SIGNATURE = { offset: 0x202, text: "HdrS" };
const PAYLOAD_OFFSET = 0x248;
const PAYLOAD_LENGTH = 0x24c;
/** The length of the unpacked kernel follows the compressed one. */
const LENGTH_BYTES = 4;
const ZSTD_MAGIC = 0xfd2fb528;
const ELF_MAGIC = "\x7fELF";

function vmlinuxOf(bzImage: Buffer): Buffer {
  const { offset, text } = SIGNATURE;
  if (bzImage.toString("latin1", offset, offset + text.length) !== text) throw new Error("the kernel is no bzImage");
  const setup = ((bzImage[SETUP_SECTORS] || DEFAULT_SETUP_SECTORS) + 1) * SECTOR_BYTES;
  const start = setup + bzImage.readUInt32LE(PAYLOAD_OFFSET);
  const payload = bzImage.subarray(start, start + bzImage.readUInt32LE(PAYLOAD_LENGTH) - LENGTH_BYTES);
  if (payload.readUInt32LE(0) !== ZSTD_MAGIC) throw new Error("the kernel is not compressed with zstd");
  const kernel = zstdDecompressSync(payload);
  if (kernel.toString("latin1", 0, ELF_MAGIC.length) !== ELF_MAGIC) throw new Error("the kernel is no ELF file");
  return kernel;
}

const run = promisify(execFile);

export interface GuestParts {
  /** The command line that starts QEMU, without options of the guest. */
  readonly qemu: readonly string[];
  /** An ELF file. */
  readonly kernel: string;
  readonly initramfs: Buffer;
}

/** Emulates PCs. What else it depends on is libraries and firmware. */
const QEMU_PACKAGE = "qemu-system-x86";
/** Debian's newest kernel of this series for bookworm; it is compressed with zstd, which Node unpacks. */
const KERNEL_PACKAGE = "linux-image-6.12-cloud-amd64";
const BUSYBOX_PACKAGE = "busybox-static";
const PACKAGES = [QEMU_PACKAGE, KERNEL_PACKAGE, BUSYBOX_PACKAGE];

/** The NIC's driver and what it needs, in the order of loading. init.sh names them too. */
const MODULES = ["net/core/failover", "drivers/net/net_failover", "drivers/net/virtio_net"];
const EMPTY_DIRECTORIES = ["bin", "dev", "proc", "sys"];

/** Why guests can't run here, in one sentence, or what they are made of. */
export async function guestPartsOrReason(env: NodeJS.ProcessEnv): Promise<GuestParts | string> {
  if (process.arch !== "x64") return "guests need a machine with an x86-64 processor";
  if (process.getuid?.() !== 0) return "guests need root";
  if (!existsSync("/dev/net/tun")) return "guests need the kernel's tun driver (/dev/net/tun)";
  const root = await unpackOnce(`debian-${BACKPORTS}-${PACKAGES.join("-")}`, env, async (directory) => {
    const index = await DebianIndex.ofBookworm(directory);
    await index.downloadComplete([QEMU_PACKAGE], directory, BACKPORTS);
    await index.download([await index.standsFor(KERNEL_PACKAGE, directory), BUSYBOX_PACKAGE], directory);
  });
  if (root === undefined) {
    return `guests need Debian bookworm's packages ${PACKAGES.join(", ")} from apt-get, with QEMU's of ${BACKPORTS}`;
  }
  return { qemu: qemuIn(root), kernel: await kernelIn(root), initramfs: await initramfsFrom(root) };
}

/** Libraries that the machine has are used from there. */
function qemuIn(root: string): string[] {
  const libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map((folder) => path.join(root, folder));
  const firmware = ["qemu", "seabios"].flatMap((folder) => ["-L", path.join(root, "usr/share", folder)]);
  const program = path.join(root, "usr/bin/qemu-system-x86_64");
  return ["env", `LD_LIBRARY_PATH=${libraries.join(":")}`, program, ...firmware];
}

async function kernelIn(root: string): Promise<string> {
  const kernel = path.join(root, "vmlinux");
  if (existsSync(kernel)) return kernel;
  const boot = path.join(root, "boot");
  const [bzImage = ""] = (await readdir(boot)).filter((file) => file.startsWith("vmlinuz"));
  // Another process may do the same.
  const unfinished = `${kernel}.${process.pid}`;
  await writeFile(unfinished, vmlinuxOf(await readFile(path.join(boot, bzImage))));
  await rename(unfinished, kernel);
  return kernel;
}

async function initramfsFrom(root: string): Promise<Buffer> {
  const busybox = path.join(root, "bin", "busybox");
  const [version = ""] = await readdir(path.join(root, "lib", "modules"));
  const module = (name: string): string => path.join(root, "lib", "modules", version, "kernel", `${name}.ko.xz`);
  const modules = await Promise.all(
    MODULES.map(async (name) => {
      const { stdout } = await run(busybox, ["unxz", "-c", module(name)], { encoding: "buffer" });
      return { path: `${path.basename(name)}.ko`, kind: "file" as const, content: stdout };
    }),
  );
  const program = async (target: string, source: string) => ({
    path: target,
    kind: "file" as const,
    content: await readFile(source),
    executable: true,
  });
  return initramfs([
    ...EMPTY_DIRECTORIES.map((name) => ({ path: name, kind: "directory" as const })),
    { path: "dev/console", kind: "console" },
    await program("bin/busybox", busybox),
    ...modules,
    await program("init", path.join(import.meta.dirname, "init.sh")),
  ]);
}
