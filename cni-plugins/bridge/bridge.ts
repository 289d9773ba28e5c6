/** The CNI plugin `bridge`: its verbs. */

import { type Plugin, runPlugin } from "../cni/plugin.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { add } from "./add.ts";
import { del } from "./del.ts";
import { loadMore } from "./parts.ts";

export const bridge: Plugin = {
  name: "bridge",
  commands: {
    ADD: add,
    DEL: del,
    CHECK: (call) => loadMore(call.syscalls).check(call),
    GC: (call) => loadMore(call.syscalls).gc(call),
    STATUS: (call) => loadMore(call.syscalls).status(call),
  },
};

export function run(syscalls: Syscalls): void {
  runPlugin(syscalls, bridge);
}
