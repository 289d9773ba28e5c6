import { join } from "node:path";
import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { type AttachmentRecord, readRecords, removeHalfWritten } from "./attachment-record.ts";
import { readCachedResults } from "./cached-results.ts";
import { isNetnsGone } from "./netns-path.ts";
import { callDel } from "./plugin-call.ts";

/**
 * Removes what is left of attachments whose network namespace is gone: runtimes forget DELs when their own records are
 * lost. It calls the plugin's own DEL with the ADD's configuration, so nothing here knows what an attachment is made of.
 * What other plugins of these names attached has no record of ours; the runtime's cached result stands in for it.
 */

/** A runtime that takes a container down removes the namespace, too; its own DEL goes first. */
const GRACE_MS = 5000;

/** The runtime deletes its cached result when DEL is done, which it tries several times within half a minute. */
const CACHED_GRACE_MS = 300_000;

/** What a plugin could not remove now, it can hardly remove in the next seconds. */
const RETRY_MS = 60_000;

/** A pass although nothing told of a change. */
const FULL_PASS_MS = 60_000;

export interface ReaperOptions {
  readonly recordDirectory: string;
  /** Where runtimes cache the results of ADDs. */
  readonly resultDirectory: string;
  /** Where this process sees the names of the node's network namespaces. */
  readonly netnsDirectory: string;
  /** Where the image has the executables. */
  readonly pluginDirectory: string;
  readonly plugins: readonly string[];
  /** Where plugins find others that they delegate to. */
  readonly cniPath: string;
  readonly onReaped: (outcome: "success" | "error") => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly graceMs?: number;
  readonly cachedGraceMs?: number;
}

export class Reaper {
  readonly #options: ReaperOptions;
  readonly #graceMs: number;
  /** When the namespace of each record was first missed, by the record's file. */
  #missedAtMs = new Map<string, number>();
  readonly #cachedGraceMs: number;
  /** The same for cached results, which are looked at in full passes. */
  #cachedMissedAtMs = new Map<string, number>();
  #cachedAtMs = Number.NEGATIVE_INFINITY;
  /** Attachments that were reaped: their cached results are the runtime's, and stay. */
  readonly #reaped = new Set<string>();
  #changed = Promise.withResolvers<void>();

  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#cachedGraceMs = options.cachedGraceMs ?? CACHED_GRACE_MS;
  }

  /** Something went away on the node: look soon. */
  changed(): void {
    this.#changed.resolve();
  }

  /** Passes after changes, and now and then, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      this.#changed = Promise.withResolvers<void>();
      await this.pass().catch((error: unknown) => log.warn({ err: error }, "attachments could not be looked through"));
      const waitMs = this.#missedAtMs.size > 0 ? this.#graceMs : FULL_PASS_MS;
      const passed = new AbortController();
      const timer = clock.sleep(waitMs, AbortSignal.any([signal, passed.signal])).catch(() => undefined);
      await Promise.race([this.#changed.promise, timer]);
      passed.abort();
    }
  }

  /** Reaps what has been missed for long enough; gives the number of records that wait for that. */
  async pass(): Promise<number> {
    const { recordDirectory, clock } = this.#options;
    const records = await readRecords(recordDirectory);
    this.#missedAtMs = await this.#reapMissed(records, this.#missedAtMs, this.#graceMs);
    await removeHalfWritten(recordDirectory, clock.now() - this.#graceMs);
    await this.#passCached(new Set(records.map(keyOf)));
    return this.#missedAtMs.size;
  }

  async #passCached(recorded: ReadonlySet<string>): Promise<void> {
    const { resultDirectory, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#cachedAtMs < Math.min(FULL_PASS_MS, this.#cachedGraceMs)) return;
    this.#cachedAtMs = nowMs;
    const cached = await readCachedResults(resultDirectory);
    const keys = new Set(cached.map(keyOf));
    for (const key of this.#reaped) if (!keys.has(key)) this.#reaped.delete(key);
    const unknown = cached.filter((one) => !recorded.has(keyOf(one)) && !this.#reaped.has(keyOf(one)));
    this.#cachedMissedAtMs = await this.#reapMissed(unknown, this.#cachedMissedAtMs, this.#cachedGraceMs);
  }

  /** When those that wait were first missed. */
  async #reapMissed(
    records: readonly AttachmentRecord[],
    before: ReadonlyMap<string, number>,
    graceMs: number,
  ): Promise<Map<string, number>> {
    const { netnsDirectory, clock } = this.#options;
    const missed = new Map<string, number>();
    for (const record of records) {
      if (!(await isNetnsGone(record.netns, netnsDirectory))) continue;
      const sinceMs = before.get(record.file) ?? clock.monotonicMs();
      if (clock.monotonicMs() - sinceMs < graceMs) missed.set(record.file, sinceMs);
      else if (await this.#reap(record)) this.#reaped.add(keyOf(record));
      else missed.set(record.file, clock.monotonicMs() + RETRY_MS - graceMs);
    }
    return missed;
  }

  async #reap(record: AttachmentRecord): Promise<boolean> {
    const { plugins, pluginDirectory, cniPath, onReaped, log } = this.#options;
    const { plugin, network, containerId, ifname, netns } = record;
    const about = { plugin, network, containerId, ifname, netns };
    if (!plugins.includes(plugin)) {
      log.error(about, `attachment ${ifname} is left over, and this version has no plugin ${plugin} to remove it`);
      return false;
    }
    const fault = await callDel({ executable: join(pluginDirectory, plugin), cniPath, record });
    onReaped(fault === undefined ? "success" : "error");
    if (fault === undefined) log.info(about, `removed what was left of ${ifname} on ${network}: its container is gone`);
    else log.warn({ ...about, fault }, `what is left of ${ifname} on ${network} could not be removed; trying again`);
    return fault === undefined;
  }
}

function keyOf({ plugin, containerId, ifname }: AttachmentRecord): string {
  return `${containerId}/${ifname}/${plugin}`;
}
