import { NETWORK_ADDONS_CONFIG_NAME } from "../../../src/api/names.ts";
import { CONFIGS, type DemoCluster, kubectlApply, whenSeen } from "./demo-cluster.ts";
import { runningGuest } from "./guest.ts";
import type { InstalledDemo } from "./installed-demo.ts";
import { layOut } from "./layout.ts";
import { attachmentDefinition, networkAddonsConfig, QUARANTINE_SECONDS, virtualMachine } from "./objects.ts";
import type { Screen } from "./screen.ts";
import { conditionOf } from "./steps/configure.ts";

/** After the scenario everything is removed; a reader who wants to try things gets it back, with VMs and networks. */
export async function putBack(demo: DemoCluster, signal: AbortSignal): Promise<void> {
  await kubectlApply(demo, networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }), attachmentDefinition());
  const ref = { name: NETWORK_ADDONS_CONFIG_NAME };
  await whenSeen(demo, CONFIGS, ref, (config) => conditionOf(config, "Available") === "True", signal);
  await kubectlApply(demo, virtualMachine("web"), virtualMachine("web-2"));
  await layOut(demo);
  await Promise.all(["web", "web-2"].map((name) => runningGuest(demo, name, signal)));
}

/** What to try next, in a browser and for a shell beside this one. */
export function invite(screen: Screen, { demo, tools }: InstalledDemo, page: string): void {
  screen.line();
  screen.line("Everything held. The cluster stays up, with the addons, VMs and networks.");
  screen.line("In another shell:");
  screen.line(`  export KUBECONFIG=${demo.cluster.kubeconfig}`);
  screen.line(`  export PATH=${tools}:$PATH`);
  screen.line("Three things to try:");
  screen.line("1. Open the page of the MAC pool, which needs no token here:");
  screen.line(`  ${page}`);
  screen.line("2. See the addresses and the networks, and the way of a VM to its frames:");
  screen.line("  kubectl macpool list");
  screen.line("  kubectl macpool networks");
  screen.line("  kubectl macpool explain web");
  screen.line("3. Copy a VM together with its address, and see on the page why the copy is refused:");
  screen.line("  kubectl get vm web -o yaml | sed 's/name: web$/name: copy/' | kubectl create -f -");
  screen.line(`Here a released address is in quarantine for ${QUARANTINE_SECONDS} seconds; the default is 60.`);
  screen.line("Ctrl-C stops it and removes everything.");
}
