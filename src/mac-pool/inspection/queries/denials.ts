import * as z from "zod";
import { formatMac } from "../../../api/mac.ts";
import { MAX_NAME_CHARS, MAX_NAMESPACE_CHARS, type OwnerKind } from "../../../api/mac-claim.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { AdmissionRequest } from "../../../kube/server/admission-server.ts";
import { shortText } from "../../../kube/short-text.ts";
import { objectOfRequest } from "../../admission/decision.ts";
import { SOMEBODY } from "../../claims/named-text.ts";
import { describeObject } from "../../claims/owner.ts";
import type { Refusal } from "../../claims/refusals.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { Replicas } from "../rest/replicas.ts";
import { type DenialView, denialViewSchema } from "../rest/views.ts";
import { type Scope, sees } from "./scope.ts";

/** The path of the refusals of one replica. */
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

  /** Other replicas answer with all names, so they are asked for the scope of the reader. */
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

/** Of 3 kB at most: names, and the message twice. */
const MAX_KEPT = 1_000;
const MAX_MESSAGE_CHARS = 1_024;

interface Kept {
  readonly view: Omit<DenialView, "message" | "at" | "count">;
  /** With all names, for those who may see everything. */
  readonly message: string;
  /** With the names of its own namespace only, and of no node. */
  readonly redacted: string;
  at: string;
  count: number;
}

/**
 * The last refusals of this replica. The same refusal of the same object is counted, not repeated. When it is full, the
 * namespace with most refusals loses its oldest one: nobody hides the refusals of others behind many of their own.
 */
export class DenialLog {
  readonly #replica: string;
  readonly #clock: Clock;
  readonly #max: number;
  /** By namespace, the oldest first. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  #size = 0;
  #made = 0;

  constructor(replica: string, clock: Clock, max = MAX_KEPT) {
    this.#replica = replica;
    this.#clock = clock;
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  add(kind: OwnerKind, request: AdmissionRequest, refusal: Refusal): void {
    const party = objectOfRequest(kind, request);
    const namespace = shortText(party.namespace, MAX_NAMESPACE_CHARS);
    const shown = shortText(party.name ?? `${party.generateName ?? ""}*`, MAX_NAME_CHARS);
    const { code, about, pool, naming, message, withoutNodes } = refusal;
    const nic = about?.interface === undefined ? undefined : shortText(about.interface, MAX_NAME_CHARS);
    const own = this.#kept.get(namespace) ?? new Map<string, Kept>();
    this.#kept.set(namespace, own);
    const at = new Date(this.#clock.now()).toISOString();
    const key = JSON.stringify([kind, shown, code, nic, about?.mac, request.dryRun]);
    const known = own.get(key);
    // The newest is the last.
    own.delete(key);
    if (known !== undefined) {
      own.set(key, { ...known, at, count: known.count + 1 });
      return;
    }
    const hidden = naming?.render((owner) => (owner.namespace === namespace ? describeObject(owner) : SOMEBODY));
    this.#made += 1;
    own.set(key, {
      view: {
        id: `${this.#replica}-${this.#made}`,
        first: at,
        code,
        namespace,
        kind,
        name: shown,
        ...(nic === undefined ? {} : { interface: nic }),
        ...(about?.mac === undefined ? {} : { mac: formatMac(about.mac) }),
        ...(pool === undefined ? {} : { pool }),
        dryRun: request.dryRun,
        replica: this.#replica,
      },
      message: shortText(message, MAX_MESSAGE_CHARS),
      redacted: shortText(withoutNodes ?? hidden ?? message, MAX_MESSAGE_CHARS),
      at,
      count: 1,
    });
    this.#size += 1;
    if (this.#size > this.#max) this.#dropOne();
  }

  /** The newest first. */
  list(scope: Scope): DenialView[] {
    const namespaces = scope.namespace === undefined ? this.#kept.values() : [this.#kept.get(scope.namespace)];
    const all = [...namespaces].flatMap((own) => [...(own?.values() ?? [])]);
    return all
      .filter(({ view }) => sees(scope, view))
      .map(({ view, message, redacted, ...times }) => ({
        ...view,
        ...times,
        message: scope.namespace === undefined ? message : redacted,
      }))
      .sort(newestFirst);
  }

  #dropOne(): void {
    let [most, from] = [new Map<string, Kept>(), ""];
    for (const [namespace, own] of this.#kept) if (own.size > most.size) [most, from] = [own, namespace];
    const oldest = most.keys().next().value;
    if (oldest === undefined) return;
    most.delete(oldest);
    this.#size -= 1;
    if (most.size === 0) this.#kept.delete(from);
  }
}

function newestFirst(one: DenialView, other: DenialView): number {
  return one.at < other.at ? 1 : one.at > other.at ? -1 : one.id < other.id ? 1 : -1;
}
