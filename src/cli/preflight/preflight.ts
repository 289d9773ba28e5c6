import { formatMac } from "../../api/mac.ts";
import { formatRange, type MacRange } from "../../api/mac-range.ts";
import { DEFAULT_NAMESPACE } from "../../api/names.ts";
import { MAX_SUGGESTED, suggestRange } from "../cluster-comparison.ts";
import { addressesOf, checkAddresses } from "./address-check.ts";
import { checkBridges } from "./bridge-check.ts";
import { CHECKS, type CheckLine } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import { checkDaemons, checkMacPool } from "./component-checks.ts";
import { checkConfig } from "./config-check.ts";
import { checkImages } from "./image-check.ts";
import { checkMultus } from "./multus-check.ts";
import { checkNamespace } from "./namespace-check.ts";
import { checkNodes } from "./node-check.ts";
import { checkOperators } from "./operator-check.ts";
import { asAddresses, checkOthers, type OtherCluster, stateOf } from "./other-clusters.ts";
import { checkKubernetes, checkKubevirt, checkOpenShift } from "./platform-checks.ts";
import type { PreflightFacts } from "./preflight-facts.ts";
import { checkRange, rangeToCheck } from "./range-check.ts";

/** What is to be done before the installation, from what was read. Pure. */

export interface PreflightQuestion {
  /** Of `--range`. */
  readonly ranges: readonly MacRange[];
  /** Of `--contexts`. */
  readonly contexts: readonly string[];
  readonly others: readonly OtherCluster[];
  /** What was said about clusters that are not among `others`. */
  readonly otherLines: readonly CheckLine[];
  /** In [0, 1): where to begin to look for a free range. */
  readonly random: number;
}

const CHECKED_BY_FACTS = [
  checkKubernetes,
  checkKubevirt,
  checkOpenShift,
  checkMultus,
  checkNodes,
  checkNamespace,
  checkOperators,
  checkMacPool,
  checkDaemons,
  checkConfig,
  checkImages,
  checkBridges,
];

/** In the order of `CHECKS`. */
export function preflight(facts: PreflightFacts, question: PreflightQuestion): readonly CheckLine[] {
  const { others, otherLines, random } = question;
  const addresses = addressesOf(facts.objects);
  const fix = (): string => {
    const states = [asAddresses("this cluster", [], addresses), ...others.map(stateOf)];
    return fixOf(suggestRange(states, MAX_SUGGESTED, random), facts, question);
  };
  const range = rangeToCheck(facts, question, fix);
  const isKnown = "ranges" in range;
  const lines = [
    ...CHECKED_BY_FACTS.flatMap((check) => check(facts)),
    ...(isKnown ? checkRange(range, facts) : range),
    ...otherLines,
    ...(others.length === 0 ? [] : checkOthers(isKnown ? range.ranges : [], addresses, others, fix)),
    ...checkAddresses(addresses),
  ];
  return CHECKS.flatMap((name) => lines.filter(({ check }) => check === name));
}

/** A change of the NetworkAddonsConfig that is there, otherwise the same question with another range. */
function fixOf(
  suggested: MacRange | undefined,
  { ranges: planned, target }: PreflightFacts,
  { ranges, contexts }: PreflightQuestion,
): string {
  const place = target === DEFAULT_NAMESPACE ? "" : ` -n ${target}`;
  const question = `kubectl macpool preflight${place}${contexts.length === 0 ? "" : ` --contexts ${contexts.join(",")}`}`;
  if (suggested === undefined) return `${question} --range FIRST-LAST`;
  const hasConfig = knownValue(planned)?.hasConfig === true;
  if (ranges.length > 0 || !hasConfig) return `${question} --range ${formatRange(suggested)}`;
  const kubeMacPool = { rangeStart: formatMac(suggested.start), rangeEnd: formatMac(suggested.end) };
  return `kubectl patch networkaddonsconfig cluster --type=merge -p '${JSON.stringify({ spec: { kubeMacPool } })}'`;
}
