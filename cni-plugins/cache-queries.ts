/**
 * A static executable of glibc asks the processor for the sizes of its caches at each start, an Intel one by some twenty
 * CPUID instructions. In a virtual machine each of them is a trap to the hypervisor, 11 us where this was measured: a
 * quarter of a VERSION, a tenth of an ADD; with an AMD processor a twelfth of a VERSION. The answers only say from how
 * many megabytes on memory is copied in another way, which plugins never do, so the functions that ask are made to return
 * a constant. Decision 014.
 */

const FUNCTION = /^handle_(intel|amd)(\.constprop\.\d+)?$/;

const SYMTAB = 2;
const STT_FUNC = 2;
const SYMBOL_BYTES = 24;

/** mov eax, 1 MiB; ret */
const RETURN_ONE_MIB = Uint8Array.of(0xb8, 0x00, 0x00, 0x10, 0x00, 0xc3);

interface Section {
  readonly type: number;
  readonly address: number;
  readonly offset: number;
  readonly size: number;
  /** The section that a symbol table has its names in. */
  readonly link: number;
}

/** Changes an ELF64 executable for amd64 that has its symbols. False, and unchanged, when it has no such function. */
export function answerCacheQueries(executable: Uint8Array): boolean {
  let changed = false;
  const view = new DataView(executable.buffer, executable.byteOffset, executable.byteLength);
  const sections = readSections(view);
  for (const table of sections.filter(({ type }) => type === SYMTAB)) {
    const names = sections[table.link];
    for (let at = table.offset; at < table.offset + table.size; at += SYMBOL_BYTES) {
      const section = sections[view.getUint16(at + 6, true)];
      if ((view.getUint8(at + 4) & 0xf) !== STT_FUNC || names === undefined || section === undefined) continue;
      if (!FUNCTION.test(readName(executable, names.offset + view.getUint32(at, true)))) continue;
      if (view.getBigUint64(at + 16, true) < RETURN_ONE_MIB.length) continue;
      const address = Number(view.getBigUint64(at + 8, true));
      executable.set(RETURN_ONE_MIB, section.offset + address - section.address);
      changed = true;
    }
  }
  return changed;
}

function readSections(view: DataView): readonly Section[] {
  const start = Number(view.getBigUint64(40, true));
  const size = view.getUint16(58, true);
  return Array.from({ length: view.getUint16(60, true) }, (_, i) => {
    const at = start + i * size;
    return {
      type: view.getUint32(at + 4, true),
      address: Number(view.getBigUint64(at + 16, true)),
      offset: Number(view.getBigUint64(at + 24, true)),
      size: Number(view.getBigUint64(at + 32, true)),
      link: view.getUint32(at + 40, true),
    };
  });
}

function readName(bytes: Uint8Array, start: number): string {
  return Buffer.from(bytes.subarray(start, bytes.indexOf(0, start))).toString("latin1");
}
