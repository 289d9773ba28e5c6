import type { DaemonSet } from "../../kube/client/built-in-kinds.ts";
import { type CheckLine, listed, note, ok, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { PreflightFacts } from "./preflight-facts.ts";
import { baseNames, placeOf } from "./workloads.ts";

/** Its name in our namespace, and that of its predecessor. */
const OWN = "multus";

/** Whether there is a Multus, or `multus` is to be asked for. */
export function checkMultus(facts: PreflightFacts): readonly CheckLine[] {
  const { openShift, daemonSets, networks, config, target } = facts;
  if (knownValue(openShift) !== undefined) {
    return [ok("multus", "OpenShift brings Multus: multus in the NetworkAddonsConfig deploys nothing.")];
  }
  if ("unknown" in daemonSets) return [unchecked("multus", "whether there is a Multus", daemonSets.unknown)];
  const found = (daemonSets.value ?? []).filter(isMultus);
  const own = found.find(({ metadata }) => metadata.name === OWN && metadata.namespace === target);
  const others = found.filter((one) => one !== own);
  const names = listed(others.map(placeOf));
  const wanted = knownValue(config)?.spec?.multus !== undefined;
  if (wanted && others.length > 0) {
    const text = `The NetworkAddonsConfig asks for multus, and DaemonSet ${names} is another one: one of the two is too many on a node.`;
    return [note("multus", text)];
  }
  if (wanted) {
    const how = own === undefined ? "is deployed" : `rolls in place of DaemonSet ${placeOf(own)}`;
    return [ok("multus", `The NetworkAddonsConfig asks for multus: it ${how}.`)];
  }
  if (others.length > 0) {
    return [ok("multus", `Multus is there, DaemonSet ${names}: leave multus out of the NetworkAddonsConfig.`)];
  }
  if (own !== undefined) {
    const text = `DaemonSet ${placeOf(own)} is a Multus that the NetworkAddonsConfig does not ask for: it stays as it is.`;
    return [note("multus", text)];
  }
  const serves = knownValue(networks) !== undefined;
  const but = serves ? ", although NetworkAttachmentDefinitions are served" : "";
  return [note("multus", `No DaemonSet of Multus is there${but}: write multus: {} into the NetworkAddonsConfig.`)];
}

function isMultus(program: DaemonSet): boolean {
  const names = [program.metadata.name ?? "", ...baseNames(program)];
  return names.some((name) => name.includes("multus")) && !names.some((name) => name.includes("dynamic-networks"));
}
