import { Counter, Gauge, type Registry } from "prom-client";

/** The few process metrics that dashboards show, without prom-client's big collectors. */
export function processMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: "process_cpu_seconds_total",
    help: "User and system CPU time.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: "process_start_time_seconds",
    help: "Start of the process, seconds since the epoch.",
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
}
