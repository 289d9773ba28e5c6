import type { Stage } from "./stage.ts";
import { cniPlugins } from "./steps/cni-plugins.ts";
import { configure } from "./steps/configure.ts";
import { conflict } from "./steps/conflict.ts";
import { firstVm } from "./steps/first-vm.ts";
import { inspection } from "./steps/inspection.ts";
import { networks } from "./steps/networks.ts";
import { nodeResources } from "./steps/node-resources.ts";
import { removal } from "./steps/removal.ts";
import { resilience } from "./steps/resilience.ts";
import type { Step } from "./story.ts";

/** The demo's story, in order: each step needs what the ones before it left. */
export const STEPS: readonly Step<Stage>[] = [
  configure,
  cniPlugins,
  nodeResources,
  firstVm,
  conflict,
  inspection,
  networks,
  resilience,
  removal,
];
