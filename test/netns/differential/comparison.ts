/** Finds where two observations of one case differ. */

import { isDeepStrictEqual } from "node:util";
import type { Observation } from "./side.ts";

export interface Difference {
  /** Where, such as "added.node.links[2].mtu". */
  readonly at: string;
  readonly reference: unknown;
  readonly ours: unknown;
}

export function compare(reference: Observation, ours: Observation): Difference[] {
  const outcome = differences("outcome", reference.add.outcome, ours.add.outcome);
  if (ours.add.outcome !== "success") {
    return [
      ...outcome,
      // The reference leaves things behind; what counts is that ours does not.
      ...differences("leftBehind", ours.before, ours.added),
      ...differences("leftBehind.leases", [], ours.leases.added),
      ...differences("del", reference.del.outcome, ours.del.outcome),
      ...compareExtras(reference, ours),
    ];
  }
  if (reference.add.outcome !== "success") return outcome;
  return [
    ...compareStatus(ours),
    ...differences("result", reference.add.answer, ours.add.answer),
    ...differences("added", reference.added, ours.added),
    ...differences("check", reference.check?.outcome, ours.check?.outcome),
    ...compareExtras(reference, ours),
    ...differences("del", reference.del.outcome, ours.del.outcome),
    ...differences("deleted", reference.deleted, ours.deleted),
    ...differences("leases", reference.leases, ours.leases),
  ];
}

/** A STATUS that fails, of a version that has it, announces an ADD that does. */
function compareStatus({ add, extras }: Observation): Difference[] {
  const status = extras.get("STATUS")?.outcome ?? "success";
  return ["success", "version"].includes(status) || add.outcome !== "success"
    ? []
    : differences("STATUS before ADD", add.outcome, status);
}

/** Those that both sides came to. */
function compareExtras(reference: Observation, ours: Observation): Difference[] {
  return [...ours.extras].flatMap(([extra, { outcome, answer, state }]) => {
    const theirs = reference.extras.get(extra);
    if (theirs === undefined) return [];
    const succeeded = outcome === "success" && theirs.outcome === "success";
    return [
      ...differences(`${extra}.outcome`, theirs.outcome, outcome),
      ...(succeeded ? differences(`${extra}.result`, theirs.answer, answer) : []),
      ...(extra === "GC" && succeeded ? compareCollected(reference, ours) : differences(extra, theirs.state, state)),
      // An ADD that fails, and a GC that lists the attachment or nothing, leave it as it is.
      ...(extra === "GC without a list" || extra === "GC of others" || (extra === "second ADD" && outcome !== "success")
        ? differences(`disturbed by ${extra}`, ours.added, state)
        : []),
    ];
  });
}

/** Nothing of ours is left that DEL would remove; whether the reference removes something is compared as a whole. */
function compareCollected(reference: Observation, ours: Observation): Difference[] {
  const removes = ({ added, extras }: Observation) => !isDeepStrictEqual(added, extras.get("GC")?.state);
  return [
    ...differences("GC.removes", removes(reference), removes(ours)),
    ...differences("left by GC", ours.deleted, ours.extras.get("GC")?.state),
  ];
}

function differences(at: string, reference: unknown, ours: unknown): Difference[] {
  if (isDeepStrictEqual(reference, ours)) return [];
  if (Array.isArray(reference) && Array.isArray(ours) && reference.length === ours.length) {
    return reference.flatMap((item, i) => differences(`${at}[${i}]`, item, ours[i]));
  }
  if (isObject(reference) && isObject(ours)) {
    const keys = [...new Set([...Object.keys(reference), ...Object.keys(ours)])];
    return keys.flatMap((key) => differences(`${at}.${key}`, reference[key], ours[key]));
  }
  return [{ at, reference, ours }];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
