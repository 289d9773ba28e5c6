/**
 * A static executable of glibc asks the processor at each start what it can do and how large its caches are, by 25 to 45
 * CPUID instructions. In a virtual machine each of them is a trap to the hypervisor, 1 to 11 us where this was measured: a
 * fifth to a third of a VERSION. glibc chooses by the answers how strings are compared and memory is copied, so the functions
 * that ask are made to return at once: then it takes what every amd64 processor has. Decision 014.
 */

/** mov eax, 1 MiB; ret */
const RETURN_ONE_MIB = [0xb8, 0x00, 0x00, 0x10, 0x00, 0xc3];
/** ret */
const RETURN = [0xc3];

/** What stands at the beginning of glibc's functions, by name. */
const REPLACEMENTS: Readonly<Record<string, readonly number[]>> = {
  handle_intel: RETURN_ONE_MIB,
  handle_amd: RETURN_ONE_MIB,
  get_common_cache_info: RETURN,
  get_common_indices: RETURN,
  get_extended_indices: RETURN,
  update_active: RETURN,
};

const SYMTAB = 2;
const STT_FUNC = 2;
const SYMBOL_BYTES = 24;

interface Section {
  readonly type: number;
  readonly address: number;
  readonly offset: number;
  readonly size: number;
  /** The section that a symbol table has its names in. */
  readonly link: number;
}

/** Changes an ELF64 executable for amd64 that has its symbols. False, and unchanged, when it has no such function. */
export function answerProcessorQueries(executable: Uint8Array): boolean {
  let changed = false;
  const view = new DataView(executable.buffer, executable.byteOffset, executable.byteLength);
  const sections = readSections(view);
  for (const table of sections.filter(({ type }) => type === SYMTAB)) {
    const names = sections[table.link];
    for (let at = table.offset; at < table.offset + table.size; at += SYMBOL_BYTES) {
      const section = sections[view.getUint16(at + 6, true)];
      if ((view.getUint8(at + 4) & 0xf) !== STT_FUNC || names === undefined || section === undefined) continue;
      const name = readName(executable, names.offset + view.getUint32(at, true)).replace(/\.constprop\.\d+$/, "");
      const replacement = Object.hasOwn(REPLACEMENTS, name) ? REPLACEMENTS[name] : undefined;
      if (replacement === undefined || view.getBigUint64(at + 16, true) < replacement.length) continue;
      const address = Number(view.getBigUint64(at + 8, true));
      executable.set(replacement, section.offset + address - section.address);
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
