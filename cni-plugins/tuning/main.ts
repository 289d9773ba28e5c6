/**
 * The CNI plugin `tuning`: changes an interface that another plugin made, and sysctls of its network namespace.
 *
 * Entry point of the executable `tuning`, compiled to bytecode by `build/`. What the interface was is kept in a file
 * (`cni/tuning-state.ts`) that DEL restores from.
 */

import { runPlugin } from "../cni/plugin.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { tuning } from "./tuning.ts";

declare const syscalls: Syscalls;

runPlugin(syscalls, tuning);
