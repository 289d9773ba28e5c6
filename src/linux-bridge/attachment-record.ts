import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { namesIn } from "./host-file.ts";
import { parseObject } from "./json-object.ts";

/**
 * What a plugin wrote before it attached something, and removes when nothing of it is left: enough to call its DEL when
 * the runtime never does.
 */
export interface AttachmentRecord {
  /** Name of the record's file. */
  readonly file: string;
  readonly plugin: string;
  readonly network: string;
  readonly containerId: string;
  readonly ifname: string;
  readonly netns: string;
  /** The ADD's configuration, as it came. */
  readonly config: string;
}

/** The plugins' own names are `CONTAINER~INTERFACE~PLUGIN.json`; others are being written. */
const RECORD_FILE = /^[^.~][^~]*~[^~]+~[a-z]+\.json$/;

const HALF_WRITTEN = ".json.tmp";

/** All that can be understood; none when the directory is not there. */
export async function readRecords(directory: string): Promise<AttachmentRecord[]> {
  const records: AttachmentRecord[] = [];
  for (const file of await namesIn(directory)) {
    const record = RECORD_FILE.test(file) ? await readRecord(directory, file) : undefined;
    if (record !== undefined) records.push(record);
  }
  return records;
}

/** Undefined where it is gone, or can't be understood. */
export async function readRecord(directory: string, file: string): Promise<AttachmentRecord | undefined> {
  return parseRecord(file, await readFile(join(directory, file), "utf8").catch(() => ""));
}

/** What plugins that were killed had begun to write before the time given (ms since the epoch): nothing was made yet. */
export async function removeHalfWritten(directory: string, beforeMs: number): Promise<void> {
  for (const file of await namesIn(directory)) {
    if (!file.endsWith(HALF_WRITTEN)) continue;
    const path = join(directory, file);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs <= beforeMs) await rm(path, { force: true });
  }
}

export function parseRecord(file: string, text: string): AttachmentRecord | undefined {
  const { plugin, network, containerId, ifname, netns, config } = parseObject(text) ?? {};
  const texts = [plugin, network, containerId, ifname, netns, config];
  if (!texts.every((text) => typeof text === "string" && text !== "")) return undefined;
  return { file, plugin, network, containerId, ifname, netns, config } as AttachmentRecord;
}
