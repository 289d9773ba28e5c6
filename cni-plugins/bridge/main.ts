/**
 * The CNI plugin `bridge`: attaches containers to a Linux bridge of the node.
 *
 * Entry point of the executable `bridge`, compiled to bytecode by `build.ts`. The plugin reads its configuration
 * (`config.ts`), then applies ordered steps, each with an undo (`add.ts`), through the kernel interface of `netlink`.
 */

import type { Host } from "../host/host.ts";
import { type Plugin, runPlugin } from "../protocol/plugin.ts";
import { add } from "./add.ts";
import { check } from "./check.ts";
import { del } from "./del.ts";
import { gc } from "./gc.ts";
import { status } from "./status.ts";

declare const host: Host;
declare const PRODUCT_VERSION: string;

const bridge: Plugin = { name: "bridge", commands: { ADD: add, DEL: del, CHECK: check, GC: gc, STATUS: status } };

runPlugin(host, bridge, PRODUCT_VERSION);
