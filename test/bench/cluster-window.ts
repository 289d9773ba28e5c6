/** What the product used and asked for within some time. */

import type { ClusterBed } from "./cluster-bed.ts";
import { type PodProcess, type Sample, since } from "./cluster-processes.ts";
import type { Request } from "./cluster-requests.ts";

export interface Parts<T> {
  readonly operator: T;
  /** The MAC pool's replica that leads. */
  readonly leader: T;
  readonly other: T;
}

export interface Used extends Parts<Sample> {
  readonly seconds: number;
  readonly requests: readonly Request[];
}

/** Of the processes that are there at its begin, while `work` goes on. */
export async function whileDoing(bed: ClusterBed, work: () => Promise<unknown>): Promise<Used> {
  const [leader, other] = await bed.replicas();
  const processes: Parts<PodProcess> = { operator: bed.operator(), leader, other };
  const samples = async (): Promise<Parts<Sample>> => ({
    operator: await processes.operator.sample(),
    leader: await processes.leader.sample(),
    other: await processes.other.sample(),
  });
  await bed.requests.next();
  const startMs = performance.now();
  const before = await samples();
  await work();
  const after = await samples();
  return {
    operator: since(before.operator, after.operator),
    leader: since(before.leader, after.leader),
    other: since(before.other, after.other),
    seconds: (performance.now() - startMs) / 1000,
    requests: await bed.requests.next(),
  };
}
