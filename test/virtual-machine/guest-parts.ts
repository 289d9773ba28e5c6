/**
 * What a guest is made of, all of it unpacked Debian packages: QEMU, a kernel that boots fast under emulation, the driver
 * of its NIC, and a busybox. QEMU is bookworm's backport: bookworm's own 7.2 crashes some kernels.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { BACKPORTS, DebianIndex } from "../tools/debian/index.ts";
import { unpackOnce } from "../tools/debian/packages.ts";
import { initramfs } from "./initramfs.ts";
import { vmlinuxOf } from "./vmlinux.ts";

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
