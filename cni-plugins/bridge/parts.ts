import type { Host } from "../host/host.ts";

/** The part of the bytecode that `more.ts` is: reading bytecode is most of what a short call costs. */
export function loadMore(host: Host): typeof import("./more.ts") {
  return host.load("more") as typeof import("./more.ts");
}
