/** The CNI plugin `bridge`: its verbs. */

import type { Host } from "../host/host.ts";
import { type Plugin, runPlugin } from "../protocol/plugin.ts";
import { load } from "./parts.ts";

export const bridge: Plugin = {
  name: "bridge",
  commands: {
    ADD: (call) => load(call.host, "add").add(call),
    DEL: (call) => load(call.host, "del").del(call),
    CHECK: (call) => load(call.host, "check").check(call),
    GC: (call) => load(call.host, "gc").gc(call),
    STATUS: (call) => load(call.host, "status").status(call),
  },
};

export function run(host: Host): void {
  runPlugin(host, bridge);
}
