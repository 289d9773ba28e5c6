/**
 * The CNI plugin `bridge`: attaches containers to a Linux bridge of the node.
 *
 * Entry point of the executable `bridge`, compiled to bytecode by `build/`. The plugin reads its configuration
 * (`config.ts`), then makes the attachment as a whole or not at all (`add.ts`), through the kernel interface of `netlink`.
 */

import { runPlugin } from "../cni/plugin.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { bridge } from "./bridge.ts";

declare const syscalls: Syscalls;

runPlugin(syscalls, bridge);
