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
  const outcome = [reference, ours].map(({ add }) => (add.ok ? "success" : add.errorClass));
  if (!ours.add.ok) {
    return [
      ...differences("outcome", outcome[0], outcome[1]),
      // The reference leaves things behind; what counts is that ours does not.
      ...differences("leftBehind", ours.before, ours.added),
      ...differences("leftBehind.leases", [], ours.leases.added),
      ...differences("del", reference.del.ok, ours.del.ok),
    ];
  }
  if (!reference.add.ok) return differences("outcome", outcome[0], outcome[1]);
  return [
    ...differences("result", reference.add.answer, ours.add.answer),
    ...differences("added", reference.added, ours.added),
    ...differences("check", reference.check?.ok, ours.check?.ok),
    ...differences("del", reference.del.ok, ours.del.ok),
    ...differences("deleted", reference.deleted, ours.deleted),
    ...differences("leases", reference.leases, ours.leases),
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
