import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { AdmissionRequest } from "../../src/kube/server/admission-server.ts";
import { nadReview } from "../../src/linux-bridge-webhook/nad-review.ts";
import { WRONG_NETWORKS } from "../nad-lint/wrong-networks.ts";
import { type BenchRow, limitedRow, row } from "./bench.ts";
import { median } from "./cni-timer.ts";

const ROUNDS = 100;
const LARGE_ROUNDS = 50;
const LARGE_BYTES = 1_000_000;
const GOAL_MS = 2;

/** What the lint adds to the admission of a NetworkAttachmentDefinition: a good one, or one of those of its tests. */
export function lintRows(): BenchRow[] {
  const good = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1", vlan: 100, macspoofchk: true };
  const usual = [JSON.stringify(good), ...WRONG_NETWORKS.map(({ config }) => config)];
  const large = JSON.stringify({ ...good, args: { cni: { filler: "x".repeat(LARGE_BYTES) } } });
  const mediansMs = usual.map((config) => median(timed(config, ROUNDS)));
  return [
    row("lint of a network: median", "ms", median(mediansMs), null, null),
    limitedRow("lint of the slowest network: median", "ms", Math.max(...mediansMs), null, GOAL_MS),
    row("lint of a network of 1 MB: median", "ms", median(timed(large, LARGE_ROUNDS)), null, null),
  ];
}

function timed(config: string, rounds: number): number[] {
  const review = nadReview({
    mode: "Enforce",
    nodesWith: () => ({ count: 1, total: 1000 }),
    bridgesOn: () => [{ node: "node-a", mtu: 1500, vlanFiltering: true }],
    sameSegment: () => undefined,
    onFinding: () => {},
  });
  return Array.from({ length: rounds }, () => {
    const request = created(config);
    const startedMs = performance.now();
    review(request);
    return performance.now() - startedMs;
  });
}

function created(config: string): AdmissionRequest {
  const version = { group: "k8s.cni.cncf.io", version: "v1" };
  return {
    uid: "1",
    kind: { ...version, kind: "NetworkAttachmentDefinition" },
    resource: { ...version, resource: "network-attachment-definitions" },
    operation: "CREATE",
    name: "br1-net",
    namespace: "default",
    object: { metadata: { name: "br1-net" }, spec: { config } } as KubeObject,
    oldObject: null,
    dryRun: false,
    userInfo: {},
  };
}
