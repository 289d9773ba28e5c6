import { LABEL_MANAGED_BY, OPERATOR_NAME } from "../../api/names.ts";
import { type CheckLine, note, ok, toDo, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { FoundOperator, PreflightFacts } from "./preflight-facts.ts";
import { imagesOf, placeOf, serviceVersionOf } from "./workloads.ts";

/** Other operators: this one stands back while one of them is alive (src/operator/watch/other-operators.ts). */

const HCO = "hco-operator";

export function checkOperators(facts: PreflightFacts): readonly CheckLine[] {
  const { operators, target, config } = facts;
  if ("unknown" in operators) {
    return [unchecked("operator", "whether Cluster Network Addons Operator is there", operators.unknown)];
  }
  const found = operators.value ?? [];
  if (found.length === 0) return [ok("operator", "No other operator of this kind is there.")];
  const isOfHco = knownValue(config)?.metadata.labels?.[LABEL_MANAGED_BY] === HCO;
  return found.map((one) => (one.isOurs ? ofOurs(one, target) : ofOther(one, target, isOfHco)));
}

function ofOurs({ program }: FoundOperator, target: string): CheckLine {
  const { namespace = "" } = program.metadata;
  const what = `Deployment ${placeOf(program)} is this product's operator`;
  if (namespace === target) {
    return note("operator", `${what}: it is installed, and another installation is an upgrade.`);
  }
  const text = `${what}, and a cluster has one installation: upgrade that one.`;
  return toDo("operator", text, `kubectl macpool preflight -n ${namespace}`);
}

function ofOther(found: FoundOperator, target: string, isOfHco: boolean): CheckLine {
  const { program, mayWriteStatus } = found;
  const { namespace = "" } = program.metadata;
  const [image = "none"] = imagesOf(program);
  const what = `Deployment ${placeOf(program)} runs another operator, ${image}`;
  const version = serviceVersionOf(program);
  if (mayWriteStatus === false) {
    return note("operator", `${what}. Its account may not write the status of the NetworkAddonsConfig: it is ignored.`);
  }
  if (isOfHco && version !== undefined) {
    const text = `${what}, and HCO keeps it there. Give HCO's ClusterServiceVersion the image of this operator instead.`;
    return toDo("operator", text, `kubectl -n ${namespace} edit clusterserviceversion ${version}`);
  }
  if (version !== undefined && (found.isAlive || namespace === target)) {
    const text = `${what}, and OLM keeps it there. Take it out of OLM, its Subscription first; what it deployed stays.`;
    return toDo(
      "operator",
      text,
      `kubectl -n ${namespace} get subscription`,
      `kubectl -n ${namespace} delete subscription NAME`,
      `kubectl -n ${namespace} delete clusterserviceversion ${version}`,
    );
  }
  if (namespace === target) {
    const text = `${what}. Delete it; its components go on, and become this operator's. Then apply the package with --force-conflicts.`;
    return toDo("operator", text, `kubectl -n ${namespace} delete deployment ${OPERATOR_NAME}`);
  }
  if (!found.isAlive) return ok("operator", `${what}, and is scaled to zero: this one takes over.`);
  const unsure = mayWriteStatus === undefined ? " if its account may write the status of the NetworkAddonsConfig" : "";
  const text = `${what}. This operator stands back while it is alive${unsure}. Install into its namespace, which keeps everything where it is, or scale it to zero; its components go on.`;
  return toDo("operator", text, `kubectl -n ${namespace} scale deployment ${OPERATOR_NAME} --replicas=0`);
}
