import { awayStates, nodeText } from "../../api/landing.ts";
import { K3S_CURRENT, K3S_CURRENT_TEXT } from "../../api/linux-bridge-config.ts";
import type { Node } from "../../kube/client/built-in-kinds.ts";
import { DEFAULT_WORKLOAD_SELECTOR, leftOutBecause, nodeLayouts } from "../../operator/watch/node-layout.ts";
import { type CheckLine, listed, note, ok, toDo, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { PreflightFacts } from "./preflight-facts.ts";

/** What the nodes are, and where the operator will put the CNI plugins. */

/** Of the image. */
const ARCHITECTURES: readonly string[] = ["amd64", "arm64"];
const SELECTION = "placementConfiguration.workloads of the NetworkAddonsConfig";

export function checkNodes({ nodes, openShift, config }: PreflightFacts): readonly CheckLine[] {
  if ("unknown" in nodes) return [unchecked("nodes", "the nodes and their directories", nodes.unknown)];
  const all = nodes.value ?? [];
  const spec = knownValue(config)?.spec;
  const selector = spec?.placementConfiguration?.workloads?.nodeSelector ?? DEFAULT_WORKLOAD_SELECTOR;
  const isOpenShift = knownValue(openShift) !== undefined;
  const { layout, groups } = nodeLayouts(all, isOpenShift, selector);
  const used = groups.flatMap(({ nodes: names }) => names);
  if (used.length === 0) {
    return [toDo("nodes", "No node can run the pods that serve nodes: they need Linux.", "kubectl get nodes -o wide")];
  }
  const setTo = spec?.linuxBridge?.cniBinDir || undefined;
  const binDir = setTo ?? layout.cniBinDir;
  const what = used.length === 1 ? "1 node" : `${used.length} nodes`;
  const why = setTo === undefined ? layout.distribution : "as linuxBridge.cniBinDir says";
  const elsewhere = groups.filter((group) => setTo === undefined && group.layout.cniBinDir !== binDir);
  return [
    ok("nodes", `${what}: CNI plugins go to ${binDir} (${why}).`),
    ...elsewhere.map((group) => {
      const { cniBinDir, distribution } = group.layout;
      const text = `${listed(group.nodes)} (${distribution}) ${group.nodes.length === 1 ? "looks" : "look"} for CNI plugins in ${cniBinDir}`;
      return note("nodes", `${text}: VMs get no networks there. Keep VMs off by ${SELECTION}.`);
    }),
    ...(binDir.startsWith(K3S_CURRENT) ? [note("nodes", `${K3S_CURRENT_TEXT}.`)] : []),
    ...withoutImage(all, used),
    ...leftOut(all, selector),
  ];
}

function withoutImage(all: readonly Node[], used: readonly string[]): readonly CheckLine[] {
  const strange = all.filter((node) => {
    const { architecture = "" } = node.status?.nodeInfo ?? {};
    return used.includes(nameOf(node)) && architecture !== "" && !ARCHITECTURES.includes(architecture);
  });
  if (strange.length === 0) return [];
  const kinds = [...new Set(strange.map(({ status }) => status?.nodeInfo?.architecture ?? ""))];
  const text = `${listed(strange.map(nameOf))}: the image is built for ${ARCHITECTURES.join(" and ")}, not for ${listed(kinds)}. Keep the components off by ${SELECTION}.`;
  return [toDo("nodes", text, "kubectl get nodes -L kubernetes.io/arch")];
}

function leftOut(all: readonly Node[], selector: Readonly<Record<string, string>>): readonly CheckLine[] {
  const reasons = all.flatMap((node) => {
    const reason = leftOutBecause(node, selector);
    return reason === undefined
      ? []
      : [{ name: nameOf(node), text: nodeText({ node: reason, states: awayStates(node) }) }];
  });
  return [...Map.groupBy(reasons, ({ text }) => text)].map(([text, nodes]) => {
    const names = nodes.map(({ name }) => name);
    return note("nodes", `${listed(names)} ${names.length === 1 ? "is" : "are"} left out: ${text}.`);
  });
}

const nameOf = ({ metadata }: Node): string => metadata.name ?? "";
