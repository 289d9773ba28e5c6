/** The CNI plugin `bridge`: its verbs. */

import type { Host } from "../host/host.ts";
import { type Plugin, runPlugin } from "../protocol/plugin.ts";
import { add } from "./add.ts";
import { del } from "./del.ts";
import { loadMore } from "./parts.ts";

export const bridge: Plugin = {
  name: "bridge",
  commands: {
    ADD: add,
    DEL: del,
    CHECK: (call) => loadMore(call.host).check(call),
    GC: (call) => loadMore(call.host).gc(call),
    STATUS: (call) => loadMore(call.host).status(call),
  },
};

export function run(host: Host): void {
  runPlugin(host, bridge);
}
