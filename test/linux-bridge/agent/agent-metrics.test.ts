import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { agentMetrics } from "../../../src/linux-bridge/agent/agent-metrics.ts";

const REPORT = { plugin: "bridge", command: "ADD", code: 0, ms: 1.5 };

describe("what the agent hears", () => {
  it("is counted: durations of what succeeded, codes of what failed, nothing that is made up", async () => {
    const registry = new Registry();
    const metrics = agentMetrics(registry, {
      recordDirectory: "/no/such/directory",
      netnsDirectories: [],
      listLinks: async () => [],
    });
    metrics.reported(REPORT);
    metrics.reported({ ...REPORT, command: "DEL", code: 101 });
    metrics.reported({ ...REPORT, plugin: "made-up" });
    metrics.reported({ ...REPORT, command: "made-up" });
    metrics.reported({ ...REPORT, ms: -1e300 });
    metrics.reaped("success");
    metrics.monitorStarted();
    expect(await registry.metrics()).toContain("linux_bridge_leftovers 0");
    metrics.countLeftovers(() => 2);
    const text = await registry.metrics();
    expect(text).toContain("linux_bridge_leftovers 2");
    expect(text).toContain("linux_bridge_link_monitor_starts_total 1");
    expect(text).toContain('linux_bridge_cni_operation_duration_seconds_count{plugin="bridge",command="ADD"} 1');
    expect(text).toContain('linux_bridge_cni_operation_duration_seconds_sum{plugin="bridge",command="ADD"} 0.0015');
    expect(text).toContain('linux_bridge_cni_errors_total{plugin="bridge",command="DEL",code="101"} 1');
    expect(text).toContain('linux_bridge_leaks_reaped_total{result="success"} 1');
    expect(text).not.toContain("made-up");
  });
});
