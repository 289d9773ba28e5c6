import { lstat, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { NetnsDirectory } from "../../api/netns-directories.ts";
import { PORT_ALIAS_PREFIX } from "../../api/node-state.ts";
import { parseObject } from "../../kube/json-path.ts";
import { errorCode } from "../system-error.ts";
import { readCachedResults } from "./cached-results.ts";
import type { HostLink, ListLinks } from "./host-links.ts";
import { type AttachmentName, type RecordedAttachment, readRecords } from "./recorded-attachments.ts";

/** The plugin's bridge where the configuration names none. */
const DEFAULT_BRIDGE = "cni0";

/** `CONTAINER/INTERFACE`: one on a node. */
export const attachmentKey = ({ containerId, ifname }: Omit<AttachmentName, "network">): string =>
  `${containerId}/${ifname}`;

/** The attachment whose port has this alias. The reference plugin's have none. */
export function attachmentOf(alias: string): AttachmentName | undefined {
  if (!alias.startsWith(PORT_ALIAS_PREFIX)) return undefined;
  const [network = "", containerId = "", ifname = ""] = alias.slice(PORT_ALIAS_PREFIX.length).split("/");
  return { network, containerId, ifname };
}

/** Keys of the attachments whose interface is among the host's links. */
export function attachedKeys(links: readonly HostLink[]): string[] {
  return links.flatMap(({ alias }) => attachmentOf(alias) ?? []).map(attachmentKey);
}

/** Where things of the node are for this process. */
export interface NodeDirectories {
  /** Where plugins write a record of each attachment. */
  readonly recordDirectory: string;
  /** Where runtimes and multus cache the results of ADDs. */
  readonly resultDirectories: readonly string[];
  /** Where the names of the node's network namespaces are. */
  readonly netnsDirectories: readonly NetnsDirectory[];
}

/** How many attachments have a namespace that this pod can't see: nothing is known of them but their interface. */
export async function countUnseen(directories: Omit<NodeDirectories, "resultDirectories">): Promise<number> {
  const keys = new Set<string>();
  for (const record of await readRecords(directories.recordDirectory)) {
    if ((await netnsPresence(record.netns, directories.netnsDirectories)) === "unseen") keys.add(attachmentKey(record));
  }
  return keys.size;
}

/**
 * Keys of the attachments whose DEL needs one of the executables. These have an interface on the host, or a record or cached
 * result of any version that names an executable. An attachment whose namespace is gone needs none; a namespace that can't be
 * seen may be there.
 */
export async function attachmentsThatNeed(
  executables: ReadonlySet<string>,
  links: readonly HostLink[],
  { recordDirectory, resultDirectories, netnsDirectories }: NodeDirectories,
): Promise<string[]> {
  const keys = new Set(attachedKeys(links));
  for (const record of [...(await readRecords(recordDirectory)), ...(await readCachedResults(resultDirectories))]) {
    if (!executables.has(String(parseObject(record.config)?.type))) continue;
    if ((await netnsPresence(record.netns, netnsDirectories)) !== "gone") keys.add(attachmentKey(record));
  }
  return [...keys];
}

/**
 * How many attachments have a VLAN on a bridge that does not filter VLANs, by the bridge: whoever configured them expects
 * them to be apart from the bridge's other ports, and they are not.
 */
export async function unfilteredVlans(recordDirectory: string, listLinks: ListLinks): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const unfiltered = (await listLinks()).filter(({ filtersVlans }) => filtersVlans === false).map(({ name }) => name);
  for (const record of await readRecords(recordDirectory)) {
    const bridge = bridgeWithVlan(record);
    if (bridge !== undefined && unfiltered.includes(bridge)) counts.set(bridge, (counts.get(bridge) ?? 0) + 1);
  }
  return counts;
}

/** The name of the bridge on which the attachment has a VLAN. Keys count in any case, numbers also in quotes. */
function bridgeWithVlan({ plugin, config }: RecordedAttachment): string | undefined {
  if (plugin !== "bridge") return undefined;
  const keys = Object.entries(parseObject(config) ?? {}).map(([key, value]) => [key.toLowerCase(), value] as const);
  const { vlan, vlantrunk, bridge = DEFAULT_BRIDGE } = Object.fromEntries(keys);
  const hasVlan = Number(vlan) > 0 || (Array.isArray(vlantrunk) && vlantrunk.length > 0);
  return hasVlan && typeof bridge === "string" ? bridge : undefined;
}

/**
 * Whether the namespace's path is there. `unseen` is what this pod can't judge: a path in a directory that it does not have
 * (`/proc/...`), a name that leads there, and every path while its directory can't be seen, or was removed on the node:
 * names are then made in another one of that path.
 */
export async function netnsPresence(
  path: string,
  directories: readonly NetnsDirectory[],
): Promise<"present" | "gone" | "unseen"> {
  const directory = directories.find(({ directoryOnNode }) => directoryOnNode === dirname(path))?.directory;
  if (directory === undefined || !(await isLinked(directory))) return "unseen";
  try {
    return (await lstat(join(directory, basename(path)))).isSymbolicLink() ? "unseen" : "present";
  } catch (error) {
    return errorCode(error) === "ENOENT" ? "gone" : "unseen";
  }
}

async function isLinked(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).nlink > 0;
  } catch {
    return false;
  }
}
