/**
 * The executable `link-monitor`: prints the links of the node as JSON lines for the node's daemons, which can't read netlink
 * events safely in their own process (docs/decisions/008). Compiled to bytecode by `build/`.
 */

import { STDERR, type Syscalls } from "../native/syscalls.ts";
import { parseArguments, USAGE } from "./arguments.ts";
import { LinkMonitor } from "./link-monitor.ts";

declare const syscalls: Syscalls;

const args = parseArguments(syscalls.args());
if (!args.ok) {
  syscalls.write(STDERR, `link-monitor: ${args.reason}\n${USAGE}\n`);
  syscalls.exit(2);
} else {
  new LinkMonitor(syscalls, args).run();
  syscalls.exit(0);
}
