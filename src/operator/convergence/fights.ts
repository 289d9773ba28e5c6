/**
 * Who else writes a field that the operator repairs, and how often. Of two writers that never give up, this one slows down
 * and says so.
 */

import { LABEL_MANAGED_BY } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";

/** A person who corrects a typo needs a few. */
const ROUNDS = 5;
const PACE_MS = 60_000;
/** A field that nobody touched for so long is at peace. */
const PEACE_MS = 5 * PACE_MS;

/** In place of a field: the whole object, which others delete or take out of what the operator watches. */
export const EXISTENCE = "existence";

interface Fight {
  readonly object: string;
  readonly field: string;
  /** The last other writer, where it is known. */
  readonly manager: string | undefined;
  readonly rounds: number;
  readonly lastMs: number;
}

export class Fights {
  readonly #clock: Clock;
  readonly #fights = new Map<string, Fight>();
  /** Keys of objects that the operator itself deleted. */
  readonly #deleted = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the field may be repaired now: at most once a minute after the first rounds. */
  mayRepair(object: string, field: string): boolean {
    const fight = this.#fights.get(`${object} ${field}`);
    return fight === undefined || fight.rounds < ROUNDS || this.#ageMs(fight) >= PACE_MS;
  }

  /** The field is repaired now. */
  repaired(object: string, field: string, manager: string | undefined): void {
    for (const [key, fight] of this.#fights) if (this.#ageMs(fight) > PEACE_MS) this.#fights.delete(key);
    const key = `${object} ${field}`;
    const rounds = (this.#fights.get(key)?.rounds ?? 0) + 1;
    this.#fights.set(key, { object, field, manager, rounds, lastMs: this.#clock.monotonicMs() });
  }

  /** What others did to an object that nobody wants any more is over. */
  forget(object: string): void {
    for (const [key, fight] of this.#fights) if (fight.object === object) this.#fights.delete(key);
  }

  /** The operator itself deleted it. */
  deleted(object: string): void {
    this.#deleted.add(object);
  }

  /** The object is there again. */
  applied(object: string): void {
    this.#deleted.delete(object);
  }

  /** Whether it is missing because of the operator. */
  isMissingByUs(object: string): boolean {
    return this.#deleted.has(object);
  }

  /** One sentence for each field of the object that somebody else keeps writing. */
  over(object: string): string[] {
    return [...this.#fights.values()]
      .filter((fight) => fight.object === object && fight.rounds >= ROUNDS && this.#ageMs(fight) <= PEACE_MS)
      .map(({ field, manager = "another writer" }) =>
        field === EXISTENCE
          ? `${manager} keeps deleting it or its label ${LABEL_MANAGED_BY}; it is applied again once a minute`
          : `${manager} keeps changing ${field}; it is set again once a minute`,
      );
  }

  #ageMs(fight: Fight): number {
    return this.#clock.monotonicMs() - fight.lastMs;
  }
}

/**
 * Who wrote the field besides `own`, by the name that writers give themselves: the last of those who have the innermost field
 * that anybody has. The time alone has a resolution of a second, and an atomic map is a field without fields of its own.
 */
export function lastManager({ metadata }: KubeObject, field: string, own: string): string | undefined {
  const others = (metadata.managedFields ?? []).filter(
    ({ manager, subresource }) => !manager?.startsWith(own) && !subresource,
  );
  const timeOf = ({ time }: (typeof others)[number]): number => Date.parse(time ?? "") || 0;
  const latestFirst = others.toSorted((a, b) => timeOf(b) - timeOf(a));
  for (const part of field.split(".").toReversed()) {
    const writer = latestFirst.find(({ fieldsV1 }) => JSON.stringify(fieldsV1)?.includes(`"f:${part}"`));
    if (writer !== undefined) return writer.manager;
  }
  return latestFirst[0]?.manager;
}
