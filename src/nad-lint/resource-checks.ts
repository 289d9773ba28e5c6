import { bridgeResource } from "../api/bridge-resource.ts";
import { notNow } from "../api/landing.ts";
import { BRIDGE_RESOURCE_PREFIX, NAD_RESOURCE_NAME_ANNOTATION } from "../api/names.ts";
import { nodesHave } from "../api/network-text.ts";
import { type Finding, finding } from "./finding.ts";
import type { NodesWith } from "./lint.ts";

/** Whether the scheduler keeps pods of the network to nodes that have its bridge. */
export function checkResource(
  annotations: Readonly<Record<string, string>>,
  bridge: string,
  nodes: NodesWith | undefined,
): Finding[] {
  const resource = bridgeResource(bridge);
  if (resource === undefined) {
    return [
      finding(
        "bridge-unpublishable",
        `no node resource can be named after bridge ${bridge}: pods may land on nodes without it. Give the bridge a name of letters, digits and "-".`,
      ),
    ];
  }
  const findings: Finding[] = [];
  const named = annotations[NAD_RESOURCE_NAME_ANNOTATION] ?? "";
  if (named === "") {
    findings.push(
      finding(
        "resource-missing",
        `annotation ${NAD_RESOURCE_NAME_ANNOTATION} is missing: a pod on a node without ${bridge} gets an empty bridge. Write ${NAD_RESOURCE_NAME_ANNOTATION}: ${resource}.`,
      ),
    );
  } else if (named !== resource && named.trim() === resource) {
    findings.push(
      finding(
        "resource-differs",
        `annotation ${NAD_RESOURCE_NAME_ANNOTATION} has blanks around ${resource}: KubeVirt takes them for a part of the name, and VMs do not start. Remove them.`,
      ),
    );
  } else if (named !== resource) {
    const what = named.startsWith(BRIDGE_RESOURCE_PREFIX)
      ? `bridge ${named.slice(BRIDGE_RESOURCE_PREFIX.length)}`
      : JSON.stringify(named);
    findings.push(
      finding(
        "resource-differs",
        `annotation ${NAD_RESOURCE_NAME_ANNOTATION} names ${what} but the config uses ${bridge}: pods are scheduled to the wrong nodes. Write ${resource}.`,
      ),
    );
  }
  if (nodes?.having.length === 0) {
    const consequence =
      named === resource
        ? "Pods stay Pending until a node publishes it"
        : "A pod on a node without it gets an empty bridge without any connection";
    findings.push(
      finding(
        "bridge-on-no-node",
        `${bridge} is published by ${nodes.total === 1 ? "no node" : `none of ${nodes.total} nodes`}. ${consequence}. Make it on a node, or let the marker publish it, or correct "bridge".`,
      ),
    );
  }
  // The scheduler looks for the resource of a network that names it.
  const having = nodes?.having.map((node) => (named === resource ? node : { ...node, publishes: true })) ?? [];
  const now = notNow(bridge, having);
  if (now !== undefined && nodes !== undefined) {
    const where = nodesHave(having.length, nodes.total, bridge);
    const message = `${where}, and no VM can land there now: ${now.because}. VMs wait. ${now.remedy} That takes an administrator.`;
    findings.push(finding("bridge-not-now", message));
  }
  return findings;
}
