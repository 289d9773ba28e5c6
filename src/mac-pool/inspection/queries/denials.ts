import { z } from "zod";
import type { ListView } from "../rest/envelopes.ts";
import type { Replicas } from "../rest/replicas.ts";
import { type DenialView, denialViewSchema } from "../rest/views.ts";
import { type DenialLog, newestFirst } from "./denial-log.ts";
import type { Scope } from "./scope.ts";

/** Where a replica tells its own refusals only. */
export const LOCAL_DENIALS = "/api/v1/denials?local=true";

const listSchema = z.object({ items: z.array(denialViewSchema) });

export interface DenialFilter {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly code?: string | undefined;
}

/** The last refusals of all replicas, the newest first. */
export class DenialQueries {
  readonly #own: DenialLog;
  readonly #replicas: Pick<Replicas, "ask">;

  constructor(own: DenialLog, replicas: Pick<Replicas, "ask">) {
    this.#own = own;
    this.#replicas = replicas;
  }

  /** How many this replica remembers. */
  get size(): number {
    return this.#own.size;
  }

  local(filter: DenialFilter, scope: Scope): ListView<DenialView> {
    const items = this.#own.list(scope).filter((denial) => matches(denial, filter));
    return { items, total: items.length };
  }

  /** Other replicas tell everything: a reader of one namespace is told what they refused there, without other names. */
  async merged(filter: DenialFilter, scope: Scope): Promise<ListView<DenialView>> {
    const path = scope.namespace === undefined ? LOCAL_DENIALS : `${LOCAL_DENIALS}&scope=${scope.namespace}`;
    const { answers, missing } = await this.#replicas.ask(path);
    const partial = [...missing];
    const others = answers.flatMap(({ replica, answer }) => {
      const list = listSchema.safeParse(answer);
      if (!list.success) partial.push(replica);
      return list.data?.items ?? [];
    });
    const items = [...this.#own.list(scope), ...others].filter((denial) => matches(denial, filter)).sort(newestFirst);
    return { items, total: items.length, ...(partial.length === 0 ? {} : { partial }) };
  }
}

function matches(denial: DenialView, { namespace, name, code }: DenialFilter): boolean {
  return (
    (namespace === undefined || denial.namespace === namespace) &&
    (name === undefined || denial.name === name) &&
    (code === undefined || denial.code === code)
  );
}
