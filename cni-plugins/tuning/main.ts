/**
 * The CNI plugin `tuning`: changes an interface that another plugin made, and sysctls of its network namespace.
 *
 * Entry point of the executable `tuning`, compiled to bytecode by `build/`. What the interface was is kept in a file
 * (`cni/tuning-state.ts`) that DEL restores from.
 */

import { startPlugin } from "../cni/start.ts";
import type { Syscalls } from "../native/syscalls.ts";

declare const syscalls: Syscalls;
declare const PRODUCT_VERSION: string;

startPlugin(syscalls, "tuning", PRODUCT_VERSION, () =>
  (syscalls.load("call") as typeof import("./call.ts")).run(syscalls),
);
