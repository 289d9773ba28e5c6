/**
 * The executable `link-monitor`: prints the links of the node as JSON lines for the node's daemons, which can't read netlink
 * events safely in their own process (docs/decisions/008). Compiled to bytecode by `build/`.
 */

import { type Host, STDERR } from "../host/host.ts";
import { parseArguments, USAGE } from "./arguments.ts";
import { LinkMonitor } from "./link-monitor.ts";

declare const host: Host;

const args = parseArguments(host.args());
if (!args.ok) {
  host.write(STDERR, `link-monitor: ${args.reason}\n${USAGE}\n`);
  host.exit(2);
} else {
  new LinkMonitor(host, args).run();
  host.exit(0);
}
