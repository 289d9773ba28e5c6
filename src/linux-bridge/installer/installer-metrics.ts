import type { Registry } from "prom-client";
import Gauge from "prom-client/lib/gauge.js";
import type { TargetState } from "./installer.ts";

/** Which plugin stands under which name on this node, and which names somebody else's file has: with the checksum of either. */
export function installerMetrics(registry: Registry, states: () => readonly TargetState[]): void {
  new Gauge({
    name: "linux_bridge_plugin_info",
    help: "CNI plugins on this node: 1 for the state (installed, foreign, failed) each name is in.",
    labelNames: ["name", "state", "version", "sha256"] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, state, version = "", sha256 = "" } of states()) {
        this.set({ name, state, version, sha256 }, 1);
      }
    },
  });
}
