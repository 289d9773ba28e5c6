import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { PluginReport } from "../../links/link-event.ts";
import { attachedKeys, countUnseen, type NodeDirectories, unfilteredVlans } from "./attachments.ts";
import type { ListLinks } from "./host-links.ts";

/** From below a millisecond, which a DEL takes, to a lease on a slow disk. */
const BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.5];

/** What anybody may report becomes a label only when it is one of these. */
const PLUGINS = ["bridge", "tuning"];
const COMMANDS = ["ADD", "DEL", "CHECK", "GC", "STATUS"];
const MAX_CODE = 999;

export interface AgentMetrics {
  reported(report: PluginReport): void;
  reaped(outcome: "success" | "error"): void;
  monitorStarted(): void;
  /** From now on, where the number of leftovers comes from. */
  countLeftovers(count: () => number): void;
  /** The same of attachments that were unplugged without a DEL. */
  countUnplugged(count: () => number): void;
}

export function agentMetrics(
  registry: Registry,
  {
    recordDirectory,
    netnsDirectories,
    listLinks,
  }: Omit<NodeDirectories, "resultDirectories"> & { readonly listLinks: ListLinks },
): AgentMetrics {
  const registers = [registry];
  const durations = new Histogram({
    name: "linux_bridge_cni_operation_duration_seconds",
    help: "How long successful calls of the CNI plugins took on this node, as they report it.",
    labelNames: ["plugin", "command"] as const,
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const errors = new Counter({
    name: "linux_bridge_cni_errors_total",
    help: "Failed calls of the CNI plugins on this node, by the code of the error.",
    labelNames: ["plugin", "command", "code"] as const,
    registers,
  });
  const reaped = new Counter({
    name: "linux_bridge_leaks_reaped_total",
    help: "Attachments whose container was gone and that the runtime had not deleted, by how removing them ended.",
    labelNames: ["result"] as const,
    registers,
  });
  for (const result of ["success", "error"]) reaped.inc({ result }, 0);
  const starts = new Counter({
    name: "linux_bridge_link_monitor_starts_total",
    help: "Starts of the link monitor on this node; while it does not run, no operations are counted.",
    registers,
  });
  let leftovers = () => 0;
  let unplugged = () => 0;
  new Gauge({
    name: "linux_bridge_leftovers",
    help: "Attachments on this node that are left over and could not be removed by the last try.",
    registers,
    collect() {
      this.set(leftovers());
    },
  });
  new Gauge({
    name: "linux_bridge_attachments",
    help: "Interfaces on this node that the bridge plugin made and that are there.",
    registers,
    async collect() {
      const links = await listLinks().catch(() => undefined);
      if (links !== undefined) this.set(attachedKeys(links).length);
    },
  });
  new Gauge({
    name: "linux_bridge_unfiltered_vlan_attachments",
    help: "Attachments with a VLAN on a bridge that does not filter VLANs: nothing keeps them apart.",
    labelNames: ["bridge"] as const,
    registers,
    async collect() {
      const counts = await unfilteredVlans(recordDirectory, listLinks).catch(() => undefined);
      if (counts === undefined) return;
      this.reset();
      for (const [bridge, count] of counts) this.set({ bridge }, count);
    },
  });
  new Gauge({
    name: "linux_bridge_not_visible_attachments",
    help: "Attachments whose network namespace the node agent can't see: only a missing interface shows that they are left over.",
    registers,
    async collect() {
      const count = await countUnseen({ recordDirectory, netnsDirectories }).catch(() => undefined);
      if (count !== undefined) this.set(count);
    },
  });
  new Gauge({
    name: "linux_bridge_unplugged_attachments",
    help: "Attachments that KubeVirt unplugged in a running pod and that were not deleted: their ports stay on the bridge.",
    registers,
    collect() {
      this.set(unplugged());
    },
  });
  return {
    reported({ plugin, command, code, ms }) {
      if (!PLUGINS.includes(plugin) || !COMMANDS.includes(command) || ms < 0) return;
      if (code === 0) durations.observe({ plugin, command }, ms / 1000);
      else if (Number.isInteger(code) && code > 0 && code <= MAX_CODE) errors.inc({ plugin, command, code });
    },
    reaped: (result) => reaped.inc({ result }),
    monitorStarted: () => starts.inc(),
    countLeftovers: (count) => {
      leftovers = count;
    },
    countUnplugged: (count) => {
      unplugged = count;
    },
  };
}
