/**
 * The executable `link-monitor`: gives node daemons the links of the node as JSON lines, because reading netlink events
 * inside the daemon's own process can't be done safely there. Compiled to bytecode by `build.ts`.
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
