/**
 * The CNI plugin `bridge`: attaches containers to a Linux bridge of the node.
 *
 * Entry point of the executable `bridge`, compiled to bytecode by `build/`. The plugin reads its configuration
 * (`config.ts`), then applies ordered steps, each with an undo (`add.ts`), through the kernel interface of `netlink`.
 */

import { startPlugin } from "../cni/start.ts";
import type { Syscalls } from "../native/syscalls.ts";

declare const syscalls: Syscalls;
declare const PRODUCT_VERSION: string;

startPlugin(syscalls, "bridge", PRODUCT_VERSION, () =>
  (syscalls.load("call") as typeof import("./call.ts")).run(syscalls),
);
