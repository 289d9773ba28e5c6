/** Starts a node, prints where it is, and waits to be killed. */
import { dirname } from "node:path";
import { NodeCluster } from "./node-cluster.ts";

const cluster = await NodeCluster.start({ nodes: [{ name: "n1" }] });
console.log(JSON.stringify({ directory: dirname(cluster.logDirectory), cgroup: cluster.cgroups.path }));
setInterval(() => {}, 2 ** 30);
