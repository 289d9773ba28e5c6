import { join } from "node:path";
import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { type AttachmentRecord, readRecords, removeHalfWritten } from "./attachment-record.ts";
import { attachedInterfaces, attachmentKey, type NodeDirectories, showsOwnLinks } from "./attachments.ts";
import { readCachedResults } from "./cached-results.ts";
import { netnsPresence } from "./netns-path.ts";
import { callDel } from "./plugin-call.ts";

/**
 * Removes what is left of attachments whose network namespace or whose interface on the host is gone: runtimes forget
 * DELs when their own records are lost. It calls the plugin's own DEL with the ADD's configuration, so nothing here knows
 * what an attachment is made of.
 * What other plugins of these names attached has no record of ours; what the runtime or multus cached stands in for it.
 */

/** A runtime that takes a container down removes the namespace, too; its own DEL goes first. */
const GRACE_MS = 5000;

/**
 * What is judged by less than its namespace must have been so for longer than any call lasts: an ADD writes its record
 * before it makes the interface, and a runtime deletes its cached result after a DEL that it tries for half a minute.
 */
const LONG_GRACE_MS = 300_000;

/** The plugin whose attachments have an interface on the host. */
const BRIDGE = "bridge";

/** What a plugin could not remove now, it can hardly remove in the next seconds. */
const RETRY_MS = 60_000;

/** A pass although nothing told of a change. */
const FULL_PASS_MS = 60_000;

export interface ReaperOptions extends NodeDirectories {
  /** See `showsOwnLinks`. */
  readonly linkStatistics: string;
  /** Where the image has the executables. */
  readonly pluginDirectory: string;
  readonly plugins: readonly string[];
  /** Where plugins find others that they delegate to. */
  readonly cniPath: string;
  readonly onReaped: (outcome: "success" | "error") => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly graceMs?: number;
  readonly longGraceMs?: number;
}

export class Reaper {
  readonly #options: ReaperOptions;
  readonly #graceMs: number;
  /** When the namespace of each record was first missed, by the record's file. */
  #missedAtMs = new Map<string, number>();
  readonly #longGraceMs: number;
  /** The same for interfaces and for cached results, which are looked at in full passes. */
  #linkMissedAtMs = new Map<string, number>();
  #cachedMissedAtMs = new Map<string, number>();
  #fullPassAtMs = Number.NEGATIVE_INFINITY;
  /** Attachments that were reaped: their cached results are the runtime's, and stay. */
  readonly #reaped = new Set<string>();
  #changed = Promise.withResolvers<void>();

  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#longGraceMs = options.longGraceMs ?? LONG_GRACE_MS;
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
    const gone = await this.#withoutNamespace(records);
    this.#missedAtMs = await this.#reapMissed(gone, this.#missedAtMs, this.#graceMs);
    await removeHalfWritten(recordDirectory, clock.now() - this.#graceMs);
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#fullPassAtMs >= Math.min(FULL_PASS_MS, this.#longGraceMs)) {
      this.#fullPassAtMs = nowMs;
      await this.#passCached(new Set(records.map(keyOf)));
      await this.#passInterfaces(records.filter((record) => !gone.includes(record)));
    }
    return this.#missedAtMs.size;
  }

  /** Whoever deletes the interface of a pod that goes on running leaves its rules and its lease. */
  async #passInterfaces(records: readonly AttachmentRecord[]): Promise<void> {
    const { linksDirectory, linkStatistics } = this.#options;
    const attached = new Set((await attachedInterfaces(linksDirectory)).map(({ key }) => key));
    if (!(await showsOwnLinks(linksDirectory, linkStatistics))) {
      this.#linkMissedAtMs.clear();
      return;
    }
    const lost = records.filter((record) => record.plugin === BRIDGE && !attached.has(attachmentKey(record)));
    this.#linkMissedAtMs = await this.#reapMissed(lost, this.#linkMissedAtMs, this.#longGraceMs);
  }

  async #passCached(recorded: ReadonlySet<string>): Promise<void> {
    const cached = await readCachedResults(this.#options.resultDirectories);
    const keys = new Set(cached.map(keyOf));
    for (const key of this.#reaped) if (!keys.has(key)) this.#reaped.delete(key);
    const unknown = cached.filter((one) => !recorded.has(keyOf(one)) && !this.#reaped.has(keyOf(one)));
    const gone = await this.#withoutNamespace(unknown);
    this.#cachedMissedAtMs = await this.#reapMissed(gone, this.#cachedMissedAtMs, this.#longGraceMs);
  }

  async #withoutNamespace(records: readonly AttachmentRecord[]): Promise<AttachmentRecord[]> {
    const without: AttachmentRecord[] = [];
    for (const record of records) {
      if ((await netnsPresence(record.netns, this.#options.netnsDirectory)) === "gone") without.push(record);
    }
    return without;
  }

  /** Reaps those that have been missed for long enough; gives when the others were first missed. */
  async #reapMissed(
    records: readonly AttachmentRecord[],
    before: ReadonlyMap<string, number>,
    graceMs: number,
  ): Promise<Map<string, number>> {
    const { clock } = this.#options;
    const missed = new Map<string, number>();
    for (const record of records) {
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

function keyOf(record: AttachmentRecord): string {
  return `${attachmentKey(record)}/${record.plugin}`;
}
