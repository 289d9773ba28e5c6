/**
 * What an agent on the node needs to call DEL when the runtime never does: one small file for each ADD, written before
 * anything is made and removed when nothing is left. A convenience: the plugins work the same where it can't be written.
 */

import type { Host } from "../host/host.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import type { Request } from "./request.ts";

export const RECORD_DIRECTORY = "/run/cni/cluster-network-addons/attachments";

/** More than this is no configuration that anybody wrote. */
const CONFIG_CHARACTERS = 64 << 10;

export function recordFile(plugin: string, { containerId, ifname }: Pick<Request, "containerId" | "ifname">): string {
  return `${RECORD_DIRECTORY}/${containerId}~${ifname}~${plugin}.json`;
}

export class AttachmentRecord {
  readonly #host: Host;
  readonly #plugin: string;
  readonly #request: Request;
  readonly #file: string;

  constructor(host: Host, plugin: string, request: Request) {
    this.#host = host;
    this.#plugin = plugin;
    this.#request = request;
    this.#file = recordFile(plugin, request);
  }

  /** Does the work of the request; an ADD with the record in place as long as something may be there. */
  during<T>(work: () => T): T {
    return this.#request.command === "ADD" ? this.#add(work) : work();
  }

  remove(): void {
    this.#bestEffort(() => this.#host.removeFile(this.#file));
  }

  /** A second ADD that fails leaves the first one's record. */
  #add<T>(work: () => T): T {
    const isFirst = !this.#isThere();
    if (isFirst) this.#write();
    try {
      const result = work();
      // A DEL beside it, which came too early for what was made, may have removed the record.
      if (!isFirst || !this.#isThere()) this.#write();
      return result;
    } catch (error) {
      if (isFirst) this.remove();
      throw error;
    }
  }

  #isThere(): boolean {
    return this.#host.exists(this.#file);
  }

  #write(): void {
    const { network, containerId, ifname, netns, stdin } = this.#request;
    if (stdin.length > CONFIG_CHARACTERS) return;
    const record = { plugin: this.#plugin, network, containerId, ifname, netns, config: stdin };
    this.#bestEffort(() => this.#host.replaceFile(this.#file, JSON.stringify(record)));
  }

  #bestEffort<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }
}
