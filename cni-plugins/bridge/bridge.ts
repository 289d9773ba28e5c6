/** The CNI plugin `bridge`: its verbs. */

import type { Plugin } from "../cni/plugin.ts";
import { add } from "./add.ts";
import { check } from "./check.ts";
import { del } from "./del.ts";
import { gc } from "./gc.ts";
import { status } from "./status.ts";

export const bridge: Plugin = {
  name: "bridge",
  commands: { ADD: add, DEL: del, CHECK: check, GC: gc, STATUS: status },
};
