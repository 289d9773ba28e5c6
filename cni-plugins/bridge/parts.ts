import type { Syscalls } from "../native/syscalls.ts";

/** The part of the bytecode that `more.ts` is: reading bytecode is most of what a short call costs. */
export function loadMore(syscalls: Syscalls): typeof import("./more.ts") {
  return syscalls.load("more") as typeof import("./more.ts");
}
