import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import { attachmentKey, attachmentOf } from "./attachments.ts";
import { podOf } from "./cached-results.ts";
import type { ListPairedLinks, PairedLink } from "./host-links.ts";
import type { AttachmentName } from "./recorded-attachments.ts";

/**
 * Finds attachments that KubeVirt has unplugged in the running pod without a DEL. virt-handler renames the interface of the
 * bridge binding and gives a dummy its name; at the unplugging it removes the dummy, its bridge and its tap. The pair stays,
 * as a port of the node's bridge, with its lease and its rules. Nothing is removed here: a container may rename what it uses.
 */

export interface Unplugged extends AttachmentName {
  /** The pair's end on the host. */
  readonly port: string;
}

/** What virt-handler calls an interface that it has put into its bridge. */
const nameInBridge = (ifname: string): string => `${ifname.replace(/^pod/, "")}-nic`;

export async function findUnplugged(listLinks: ListPairedLinks): Promise<Unplugged[]> {
  const inside = new Map<number, readonly PairedLink[]>();
  const found: Unplugged[] = [];
  for (const { name: port, alias, peer } of await listLinks()) {
    const attachment = attachmentOf(alias);
    if (attachment === undefined || peer === undefined) continue;
    const { index, namespaceId } = peer;
    // A namespace that ends meanwhile has no links to look at.
    const links = inside.get(namespaceId) ?? (await listLinks(namespaceId).catch(() => []));
    inside.set(namespaceId, links);
    const end = links.find((link) => link.index === index);
    if (end?.name !== nameInBridge(attachment.ifname) || end.isPort) continue;
    if (!links.some(({ name }) => name === attachment.ifname)) found.push({ ...attachment, port });
  }
  return found;
}

/** Where somebody calls DEL at last, as multus' controller of dynamic networks does, it comes within this time. */
const PASS_MS = 60_000;

export interface UnpluggedOptions {
  readonly listLinks: ListPairedLinks;
  /** Where the results of ADDs are cached, which name the pod. */
  readonly resultDirectories: readonly string[];
  /**
   * Each attachment once, with a text that says what is wrong and what to do. It names no pod: events about nodes are in
   * namespace default, whose readers need not see the pod's.
   */
  readonly report: (message: string) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly passMs?: number;
}

/** Reports attachments that two passes have found unplugged. */
export class UnpluggedAttachments {
  readonly #options: UnpluggedOptions;
  #seen: ReadonlySet<string> = new Set();
  #reported: ReadonlySet<string> = new Set();

  constructor(options: UnpluggedOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#reported.size;
  }

  /** Passes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, passMs = PASS_MS } = this.#options;
    while (!signal.aborted) {
      await this.pass().catch((error: unknown) => log.warn({ err: error }, "unplugged attachments are not known now"));
      await clock.sleep(passMs, signal).catch(() => undefined);
    }
  }

  async pass(): Promise<void> {
    const { listLinks, resultDirectories, report, log } = this.#options;
    const found = await findUnplugged(listLinks);
    const lasting = found.filter((one) => this.#seen.has(attachmentKey(one)));
    for (const one of lasting) {
      if (this.#reported.has(attachmentKey(one))) continue;
      const pod = (await podOf(one, resultDirectories)) ?? `in container ${one.containerId}`;
      log.warn(one, describe(one, `pod ${pod} on network ${one.network}`));
      report(`${describe(one, "a pod")} ${WHERE_NAMED}`);
    }
    this.#seen = new Set(found.map(attachmentKey));
    this.#reported = new Set(lasting.map(attachmentKey));
  }
}

const WHERE_NAMED = "The log of linux-bridge on this node names the pod.";

function describe({ ifname, port }: Unplugged, pod: string): string {
  return (
    `Interface ${ifname} of ${pod} was unplugged, but nobody called the CNI plugin: ` +
    `${port} stays on the node's bridge, and its IP address stays leased, until the pod ends. ` +
    "Live-migrate or restart the VM. With multusDynamicNetworks, unplugging removes both."
  );
}
