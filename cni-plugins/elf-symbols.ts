/** Reads the functions of an ELF64 executable, least significant byte first, from its symbol table. */

export interface FunctionSymbol {
  readonly name: string;
  /** Of its code in the file. */
  readonly offset: number;
  readonly bytes: number;
}

const SYMTAB = 2;
const STT_FUNC = 2;
/** Chooses, when the process starts, which of some functions the name stands for. */
const STT_GNU_IFUNC = 10;
const SYMBOL_BYTES = 24;

interface Section {
  readonly type: number;
  readonly address: number;
  readonly offset: number;
  readonly size: number;
  /** The section that a symbol table has its names in. */
  readonly link: number;
}

/** In the order of the symbol table; none of an executable that was stripped. */
export function* functionsOf(executable: Uint8Array): Generator<FunctionSymbol> {
  const view = new DataView(executable.buffer, executable.byteOffset, executable.byteLength);
  const sections = readSections(view);
  for (const table of sections.filter(({ type }) => type === SYMTAB)) {
    const names = sections[table.link];
    for (let at = table.offset; at < table.offset + table.size; at += SYMBOL_BYTES) {
      const section = sections[view.getUint16(at + 6, true)];
      const type = view.getUint8(at + 4) & 0xf;
      if (type !== STT_FUNC && type !== STT_GNU_IFUNC) continue;
      if (names === undefined || section === undefined) continue;
      yield {
        name: readName(executable, names.offset + view.getUint32(at, true)),
        offset: section.offset + Number(view.getBigUint64(at + 8, true)) - section.address,
        bytes: Number(view.getBigUint64(at + 16, true)),
      };
    }
  }
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
