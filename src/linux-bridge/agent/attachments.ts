import type { NetnsDirectory } from "../../api/netns-directories.ts";
import { PORT_ALIAS_PREFIX } from "../../api/node-state.ts";
import { parseObject } from "../../kube/json-path.ts";
import { readCachedResults } from "./cached-results.ts";
import type { HostLink } from "./host-links.ts";
import { netnsPresence } from "./netns-path.ts";
import { type AttachmentName, readRecords } from "./recorded-attachments.ts";

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
