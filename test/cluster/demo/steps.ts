import type { DemoCluster } from "./demo-cluster.ts";
import type { Step } from "./scenario.ts";
import { cniPlugins } from "./steps/cni-plugins.ts";
import { configure } from "./steps/configure.ts";
import { conflict } from "./steps/conflict.ts";
import { firstVm } from "./steps/first-vm.ts";
import { inspection } from "./steps/inspection.ts";
import { networks } from "./steps/networks.ts";
import { nodeResources } from "./steps/node-resources.ts";
import { removal } from "./steps/removal.ts";
import { resilience } from "./steps/resilience.ts";

/** The demo's scenario, in order: each step needs what the ones before it left. */
export const STEPS: readonly Step<DemoCluster>[] = [
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
