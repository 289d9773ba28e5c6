/**
 * The product in a large cluster: what grows with nodes, pods and VMs, and how. `--nodes 5000` takes about half an hour on
 * two cores. `CLUSTER_BENCH_PODS` (6) and `CLUSTER_BENCH_VMS` (4), pods and running VMs of each node, make it shorter.
 */

import type { Bench, BenchRow } from "./bench.ts";
import { limitedRow, mayBeNone, row } from "./bench.ts";
import { measureScale } from "./cluster-measure.ts";
import { NAMESPACES } from "./needs.ts";

const NODES = 1_000;
const SHORT_NODES = 100;

export const bench: Bench = {
  about:
    "operator and MAC pool in a cluster of fake nodes; the peer is the same with a tenth of the nodes: a ratio of 10 grows with the cluster, a ratio of 1 does not",
  needs: NAMESPACES,
  takesNodes: true,
  async run(context) {
    const nodes = context.nodes ?? (context.short ? SHORT_NODES : NODES);
    const number = (name: string, normal: number): number => Number(context.env[name] ?? normal);
    const load = { pods: number("CLUSTER_BENCH_PODS", 6), vms: number("CLUSTER_BENCH_VMS", 4) };
    const tenth = await measureScale(Math.ceil(nodes / 10), load, context);
    const whole = await measureScale(nodes, load, context);
    return whole.map(({ what, unit, value, limit, mayBeNone: isNone }, index): BenchRow => {
      const peer = tenth[index]?.value ?? null;
      const all = limit === undefined ? row(what, unit, value, peer, null) : limitedRow(what, unit, value, peer, limit);
      return isNone === true ? mayBeNone(all) : all;
    });
  },
};
