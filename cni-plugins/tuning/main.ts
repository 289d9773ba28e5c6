/**
 * The CNI plugin `tuning`: changes an interface that another plugin made, and sysctls of its network namespace.
 *
 * Entry point of the executable `tuning`, compiled to bytecode by `build/`. What the interface was is kept in a file
 * (`protocol/tuning-state.ts`) that DEL restores from.
 */

import type { Host } from "../host/host.ts";
import { startPlugin } from "../protocol/start.ts";

declare const host: Host;
declare const PRODUCT_VERSION: string;

startPlugin(host, "tuning", PRODUCT_VERSION, () => (host.load("call") as typeof import("./call.ts")).run(host));
