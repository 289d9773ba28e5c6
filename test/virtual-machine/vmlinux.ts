import { zstdDecompressSync } from "node:zlib";

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

export function vmlinuxOf(bzImage: Buffer): Buffer {
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
