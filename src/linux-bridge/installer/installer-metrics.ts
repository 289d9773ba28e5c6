import { Counter, Gauge, type Registry } from "prom-client";
import type { Installer } from "./installer.ts";

/** Which plugin stands under which name on this node, and which names somebody else's file has: with the checksum of either. */
export function installerMetrics(registry: Registry, installer: Pick<Installer, "states" | "contests">): void {
  new Gauge({
    name: "linux_bridge_plugin_info",
    help: "CNI plugins on this node: 1 for the state (installed, foreign, failed) each name is in.",
    labelNames: ["name", "state", "version", "sha256"] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, state, version = "", sha256 = "" } of installer.states) {
        this.set({ name, state, version, sha256 }, 1);
      }
    },
  });
  new Counter({
    name: "linux_bridge_plugin_contests_total",
    help: "How often another installer's version of the CNI plugins stood in place of this one's: two releases are at work.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(installer.contests);
    },
  });
}
