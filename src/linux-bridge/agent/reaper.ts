import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../kube/clock.ts";
import { WorkQueue } from "../../kube/informer/work-queue.ts";
import type { Log } from "../../kube/log.ts";
import { attachedKeys, attachmentKey, type NodeDirectories, netnsPresence } from "./attachments.ts";
import { readCachedResult, readCachedResults } from "./cached-results.ts";
import { callDel } from "./del-call.ts";
import type { ListLinks } from "./host-links.ts";
import { type RecordedAttachment, readRecord, readRecords, removeHalfWritten } from "./recorded-attachments.ts";

/**
 * Removes leftovers: attachments whose network namespace or host interface is gone. A runtime forgets a DEL when it loses its
 * own records. The reaper calls the plugin's own DEL with the ADD's configuration, so it need not know what an attachment is
 * made of. Attachments of other plugins of these names have no record of ours; the cached result of the runtime or of multus
 * stands in for it.
 */

/** A runtime that ends a container removes the namespace too. Its own DEL goes first. */
const GRACE_MS = 5000;

/**
 * A missing interface or a cached result proves less than a missing namespace, so it must last longer than any call: an ADD
 * writes its record before it makes the interface, and a runtime retries a DEL for half a minute before it deletes its result.
 */
const LONG_GRACE_MS = 300_000;

/** The plugin whose attachments have an interface on the host. */
const BRIDGE = "bridge";

/** The wait after a failed DEL: the first one, doubled each time up to the last one. */
const FIRST_RETRY_MS = 60_000;
const LAST_RETRY_MS = 3_600_000;

/** A DEL takes milliseconds; one that delegates to a lease on a slow disk takes longer. */
const CALL_TIMEOUT_MS = 30_000;

/** The queue's one key. */
const PASS = "pass";

/** Attachments that go at the same time share a pass. */
const SETTLE_MS = 500;

/** A pass without an event. */
const FULL_PASS_MS = 60_000;

export interface ReaperOptions extends NodeDirectories {
  readonly listLinks: ListLinks;
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
  readonly callTimeoutMs?: number;
  /** Stops it, also a call that is under way: its record stays for the next one. */
  readonly signal: AbortSignal;
}

/** A leftover that is not yet to be removed, or could not be. */
interface Waiting {
  readonly dueMs: number;
  readonly failures: number;
}

type Recheck = (record: RecordedAttachment) => Promise<boolean>;

export class Reaper {
  readonly #options: ReaperOptions;
  readonly #graceMs: number;
  /** Records whose namespace is missed, by the record's file. */
  #missed: ReadonlyMap<string, Waiting> = new Map();
  readonly #longGraceMs: number;
  /** The same for interfaces and for cached results, which full passes check. */
  #linkMissed: ReadonlyMap<string, Waiting> = new Map();
  #cachedMissed: ReadonlyMap<string, Waiting> = new Map();
  #fullPassAtMs = Number.NEGATIVE_INFINITY;
  /** Attachments that were reaped: their cached results are the runtime's, and stay. */
  readonly #reaped = new Set<string>();
  readonly #queue: WorkQueue;

  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({ clock: options.clock });
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#longGraceMs = options.longGraceMs ?? LONG_GRACE_MS;
  }

  /** How many leftovers the last try could not remove. */
  get failing(): number {
    const waiting = [this.#missed, this.#linkMissed, this.#cachedMissed].flatMap((missed) => [...missed.values()]);
    return waiting.filter(({ failures }) => failures > 0).length;
  }

  /** Something went away on the node: a pass follows soon. */
  changed(): void {
    this.#queue.addAfter(PASS, SETTLE_MS);
  }

  /** Passes after changes, and now and then, until the signal aborts. */
  async run(): Promise<void> {
    const { log, signal } = this.#options;
    if (signal.aborted) return;
    signal.addEventListener("abort", () => this.#queue.shutdown(), { once: true });
    this.#queue.add(PASS);
    while ((await this.#queue.next()) !== undefined) {
      await this.pass().catch((error: unknown) =>
        log.warn({ err: error }, "a search for leftovers failed; the next one follows within a minute"),
      );
      this.#queue.done(PASS);
      this.#queue.addAfter(PASS, this.#restMs());
    }
  }

  /** Until the next pass, where nothing tells of a change. */
  #restMs(): number {
    const dueMs = Math.min(...[...this.#missed.values()].map((waiting) => waiting.dueMs));
    return Math.min(FULL_PASS_MS, Math.max(this.#graceMs, dueMs - this.#options.clock.monotonicMs()));
  }

  /** Reaps what has been missed for long enough; gives the number of records that wait for that. */
  async pass(): Promise<number> {
    const { recordDirectory, clock } = this.#options;
    const records = await readRecords(recordDirectory);
    const gone = await this.#withoutNamespace(records);
    this.#missed = await this.#reapMissed(gone, this.#missed, this.#graceMs, async (record) => {
      return (await this.#isUnchanged(record)) && (await this.#lacksNamespace(record));
    });
    await removeHalfWritten(recordDirectory, clock.now() - this.#graceMs);
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#fullPassAtMs >= Math.min(FULL_PASS_MS, this.#longGraceMs)) {
      this.#fullPassAtMs = nowMs;
      try {
        await this.#passInterfaces(records.filter((record) => !gone.includes(record)));
      } finally {
        await this.#passCached(new Set(records.map(keyOf)));
      }
    }
    return this.#missed.size;
  }

  /** A host interface that was deleted under a running pod leaves rules and a lease. */
  async #passInterfaces(records: readonly RecordedAttachment[]): Promise<void> {
    const { listLinks } = this.#options;
    const readAttached = async () => new Set(attachedKeys(await listLinks()));
    const missed = this.#linkMissed;
    // Where there is no list, the wait begins anew.
    this.#linkMissed = new Map();
    const attached = await readAttached();
    const lost = records.filter((record) => record.plugin === BRIDGE && !attached.has(attachmentKey(record)));
    this.#linkMissed = await this.#reapMissed(lost, missed, this.#longGraceMs, async (record) => {
      return (await this.#isUnchanged(record)) && !(await readAttached()).has(attachmentKey(record));
    });
  }

  async #passCached(recorded: ReadonlySet<string>): Promise<void> {
    const cached = await readCachedResults(this.#options.resultDirectories);
    const keys = new Set(cached.map(reapedKeyOf));
    for (const key of this.#reaped) if (!keys.has(key)) this.#reaped.delete(key);
    const unknown = cached.filter((one) => !recorded.has(keyOf(one)) && !this.#reaped.has(reapedKeyOf(one)));
    const gone = await this.#withoutNamespace(unknown);
    this.#cachedMissed = await this.#reapMissed(gone, this.#cachedMissed, this.#longGraceMs, async (one) => {
      const now = await readCachedResult(one.file.slice(0, one.file.lastIndexOf("#")));
      return now.some((found) => isDeepStrictEqual(found, one)) && (await this.#lacksNamespace(one));
    });
  }

  async #withoutNamespace(records: readonly RecordedAttachment[]): Promise<RecordedAttachment[]> {
    const without: RecordedAttachment[] = [];
    for (const record of records) if (await this.#lacksNamespace(record)) without.push(record);
    return without;
  }

  async #lacksNamespace({ netns }: RecordedAttachment): Promise<boolean> {
    return (await netnsPresence(netns, this.#options.netnsDirectories)) === "gone";
  }

  /** Neither deleted nor attached anew since it was read. */
  async #isUnchanged(record: RecordedAttachment): Promise<boolean> {
    return isDeepStrictEqual(await readRecord(this.#options.recordDirectory, record.file), record);
  }

  /**
   * Reaps those that have been missed for long enough. Looks again right before each call, because an attachment may be made
   * anew during the call before it. Gives those that wait.
   */
  async #reapMissed(
    records: readonly RecordedAttachment[],
    before: ReadonlyMap<string, Waiting>,
    graceMs: number,
    isStillMissed: Recheck,
  ): Promise<ReadonlyMap<string, Waiting>> {
    const { clock, signal } = this.#options;
    const missed = new Map<string, Waiting>();
    for (const record of records) {
      const waiting = before.get(record.file) ?? { dueMs: clock.monotonicMs() + graceMs, failures: 0 };
      if (signal.aborted || clock.monotonicMs() < waiting.dueMs) {
        missed.set(record.file, waiting);
      } else if (await isStillMissed(record)) {
        if (await this.#reap(record)) this.#reaped.add(reapedKeyOf(record));
        else missed.set(record.file, afterFailure(waiting, clock.monotonicMs()));
      }
    }
    return missed;
  }

  async #reap(record: RecordedAttachment): Promise<boolean> {
    const { plugins, pluginDirectory, cniPath, callTimeoutMs = CALL_TIMEOUT_MS, onReaped, log, signal } = this.#options;
    const { plugin, network, containerId, ifname, netns } = record;
    const about = { plugin, network, containerId, ifname, netns };
    if (!plugins.includes(plugin)) {
      log.error(about, `${ifname} on ${network} is left over, but this version has no plugin ${plugin} to remove it`);
      return false;
    }
    const executable = join(pluginDirectory, plugin);
    const fault = await callDel({ executable, cniPath, record, timeoutMs: callTimeoutMs, signal });
    if (fault !== undefined && signal.aborted) return false;
    onReaped(fault === undefined ? "success" : "error");
    if (fault === undefined)
      log.info(about, `removed the leftovers of ${ifname} on ${network}: its container or interface is gone`);
    else
      log.warn(
        { ...about, fault },
        `the leftovers of ${ifname} on ${network} could not be removed; the next try follows within an hour`,
      );
    return fault === undefined;
  }
}

function afterFailure({ failures }: Waiting, nowMs: number): Waiting {
  return { dueMs: nowMs + Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS), failures: failures + 1 };
}

function keyOf(record: RecordedAttachment): string {
  return `${attachmentKey(record)}/${record.plugin}`;
}

/** Of one attachment of a container: some runtimes attach it anew under the same id, in another namespace. */
const reapedKeyOf = (record: RecordedAttachment): string => `${keyOf(record)}/${record.netns}`;
