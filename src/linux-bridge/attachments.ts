import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type AttachmentRecord, readRecords } from "./attachment-record.ts";
import { readCachedResults } from "./cached-results.ts";
import { errorCode } from "./host-file.ts";
import { parseObject } from "./json-object.ts";
import { netnsPresence } from "./netns-path.ts";

/** What the plugin writes before the attachment's network, container and interface into the alias of its host interface. */
const ALIAS_PREFIX = "cni-bridge:";

/** The links of the network namespace in which it was mounted; the pod has the host's. */
export const LINKS_DIRECTORY = "/sys/class/net";

/** Statistics of the links of this process's network namespace, a line each after two of headings. */
export const LINK_STATISTICS = "/proc/self/net/dev";
const HEADINGS = 2;

/** What the kernel answers for a link that has just been deleted, and for files that are no links. */
const NO_LINK = ["ENOENT", "ENODEV", "ENOTDIR"];

export interface AttachedInterface {
  /** Of the interface on the host. */
  readonly name: string;
  /** See `attachmentKey`. */
  readonly key: string;
}

/** `CONTAINER/INTERFACE`: one on a node. */
export const attachmentKey = ({ containerId, ifname }: Pick<AttachmentRecord, "containerId" | "ifname">): string =>
  `${containerId}/${ifname}`;

/** The host interfaces that the bridge plugin made and that are still there. Those of the reference plugin carry no alias. */
export async function attachedInterfaces(directory: string): Promise<AttachedInterface[]> {
  const attached: AttachedInterface[] = [];
  for (const name of await readdir(directory)) {
    const alias = await readAlias(join(directory, name, "ifalias"));
    if (alias.startsWith(ALIAS_PREFIX)) attached.push({ name, key: alias.trimEnd().split("/").slice(1).join("/") });
  }
  return attached;
}

/** Empty for what is no link, or none any more. Any other failure is thrown: whoever is there must not look gone. */
async function readAlias(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (NO_LINK.includes(errorCode(error) ?? "")) return "";
    throw error;
  }
}

/**
 * Whether the directory shows this process's links. A runtime that mounts another namespace's must not make it look as if
 * all interfaces were gone; nor must one that came while the two were read.
 */
export async function showsOwnLinks(directory: string, linkStatistics: string): Promise<boolean> {
  const lines = (await readFile(linkStatistics, "utf8")).trimEnd().split("\n").slice(HEADINGS);
  const shown = new Set(await readdir(directory));
  return lines.length > 0 && lines.every((line) => shown.has(line.slice(0, line.indexOf(": ")).trim()));
}

/** Where things of the node are for this process. */
export interface NodeDirectories {
  /** Where plugins write a record of each attachment. */
  readonly recordDirectory: string;
  /** Where runtimes and multus cache the results of ADDs. */
  readonly resultDirectories: readonly string[];
  /** Where the names of the node's network namespaces are. */
  readonly netnsDirectory: string;
  readonly linksDirectory: string;
}

/**
 * Keys of the attachments that need one of the executables to be taken away: those that have an interface on the host,
 * and those of any version and maker whose record or cached result names an executable, unless their namespace is gone: one that can't be seen may be there.
 */
export async function attachmentsThatNeed(
  executables: ReadonlySet<string>,
  { recordDirectory, resultDirectories, netnsDirectory, linksDirectory }: NodeDirectories,
): Promise<string[]> {
  const keys = new Set((await attachedInterfaces(linksDirectory)).map(({ key }) => key));
  for (const record of [...(await readRecords(recordDirectory)), ...(await readCachedResults(resultDirectories))]) {
    if (!executables.has(String(parseObject(record.config)?.type))) continue;
    if ((await netnsPresence(record.netns, netnsDirectory)) !== "gone") keys.add(attachmentKey(record));
  }
  return [...keys];
}
