/**
 * The CNI plugin `bridge`: attaches containers to a Linux bridge of the node.
 *
 * Entry point of the executable `bridge`, compiled to bytecode by `build.ts`. The plugin reads its configuration
 * (`config.ts`), then applies ordered steps, each with an undo (`add.ts`), through the kernel interface of `netlink`.
 */

import type { Host } from "../host/host.ts";
import { runPlugin } from "../protocol/plugin.ts";
import { bridge } from "./bridge.ts";

declare const host: Host;
declare const PRODUCT_VERSION: string;

runPlugin(host, bridge, PRODUCT_VERSION);
