/**
 * A static executable of glibc asks the processor at each start what it can do and how large its caches are, by 25 to 45
 * CPUID instructions. In a virtual machine each of them is a trap to the hypervisor, 1 to 11 us where this was measured: a
 * fifth to a third of a VERSION. glibc chooses by the answers how strings are compared and memory is copied, so the functions
 * that ask are made to return at once: then it takes what every amd64 processor has. Decision 014.
 */

import { functionsOf } from "./elf-symbols.ts";

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

/** Changes an ELF64 executable for amd64 that has its symbols. False, and unchanged, when it has no such function. */
export function answerProcessorQueries(executable: Uint8Array): boolean {
  let changed = false;
  for (const { name, offset, bytes } of functionsOf(executable)) {
    const plain = name.replace(/\.constprop\.\d+$/, "");
    const replacement = Object.hasOwn(REPLACEMENTS, plain) ? REPLACEMENTS[plain] : undefined;
    if (replacement === undefined || bytes < replacement.length) continue;
    executable.set(replacement, offset);
    changed = true;
  }
  return changed;
}
