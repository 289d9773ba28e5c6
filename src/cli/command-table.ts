import type { CommandSpec } from "./command.ts";
import { check } from "./commands/check.ts";
import { collisions } from "./commands/collisions.ts";
import { completion } from "./commands/completion.ts";
import { denials } from "./commands/denials.ts";
import { doctor } from "./commands/doctor.ts";
import { explain } from "./commands/explain.ts";
import { find } from "./commands/find.ts";
import { lint } from "./commands/lint.ts";
import { list } from "./commands/list.ts";
import { map } from "./commands/map.ts";
import { namespaces } from "./commands/namespaces.ts";
import { network } from "./commands/network.ts";
import { networks } from "./commands/networks.ts";
import { newNetwork } from "./commands/new-network.ts";
import { preflight } from "./commands/preflight.ts";
import { ranges } from "./commands/ranges.ts";
import { status } from "./commands/status.ts";
import { ui } from "./commands/ui.ts";
import { watch } from "./commands/watch.ts";

/** All commands, in the order of the help. Help, completion and the parser read them here. */
export const COMMANDS: readonly CommandSpec[] = [
  status,
  list,
  find,
  explain,
  check,
  collisions,
  denials,
  doctor,
  namespaces,
  networks,
  network,
  map,
  watch,
  ranges,
  preflight,
  lint,
  newNetwork,
  ui,
  completion,
];
