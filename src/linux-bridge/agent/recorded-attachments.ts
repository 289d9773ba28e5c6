import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AttachmentRecord } from "../../api/node-state.ts";
import { parseObject } from "../../kube/json-path.ts";
import { unlessAbsent } from "../system-error.ts";

/** A plugin writes the record before it attaches something, and removes it when nothing is left. */
export interface RecordedAttachment extends AttachmentRecord {
  /** Name of the record's file. */
  readonly file: string;
}

export type AttachmentName = Pick<RecordedAttachment, "network" | "containerId" | "ifname">;

/** The plugins' own names are `CONTAINER~INTERFACE~PLUGIN.json`; others are being written. */
const RECORD_FILE = /^[^.~][^~]*~[^~]+~[a-z]+\.json$/;

const HALF_WRITTEN = ".json.tmp";

/** All that can be understood; none when the directory is not there. */
export async function readRecords(directory: string): Promise<RecordedAttachment[]> {
  const records: RecordedAttachment[] = [];
  for (const file of await namesIn(directory)) {
    const record = RECORD_FILE.test(file) ? await readRecord(directory, file) : undefined;
    if (record !== undefined) records.push(record);
  }
  return records;
}

/** Undefined where it is gone, or can't be understood. */
export async function readRecord(directory: string, file: string): Promise<RecordedAttachment | undefined> {
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

/** What a directory holds; nothing when it is not there. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await unlessAbsent(readdir(directory))) ?? [];
}

function parseRecord(file: string, text: string): RecordedAttachment | undefined {
  const { plugin, network, containerId, ifname, netns, config } = parseObject(text) ?? {};
  const texts = [plugin, network, containerId, ifname, netns, config];
  if (!texts.every((text) => typeof text === "string" && text !== "")) return undefined;
  return { file, plugin, network, containerId, ifname, netns, config } as RecordedAttachment;
}
