/**
 * The attachment record: one small file for each attachment, written before ADD makes anything and removed when nothing is
 * left. The node's agent calls DEL by it when the runtime never does. The plugins work the same where it can't be written.
 */

import { ATTACHMENT_RECORD_DIRECTORY, type AttachmentRecord } from "../../src/api/node-state.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import type { ContainerInterface, Request } from "./request.ts";

/** More than this is no configuration that anybody wrote. */
const CONFIG_CHARACTERS = 64 << 10;

/** The alias of the attachment's interface, by which the agent knows it, always has room for an id of this length. */
const ID_CHARACTERS = 218;

export function attachmentRecordFile(plugin: string, { containerId, ifname }: ContainerInterface): string {
  return `${ATTACHMENT_RECORD_DIRECTORY}/${containerId}~${ifname}~${plugin}.json`;
}

export class AttachmentRecordFile {
  readonly #syscalls: Syscalls;
  readonly #plugin: string;
  readonly #request: Request;
  readonly #file: string;

  constructor(syscalls: Syscalls, plugin: string, request: Request) {
    this.#syscalls = syscalls;
    this.#plugin = plugin;
    this.#request = request;
    this.#file = attachmentRecordFile(plugin, request);
  }

  /** Does the work of the request. During an ADD the record is in place as long as something may be there. */
  during<T>(work: () => T): T {
    return this.#request.command === "ADD" ? this.#add(work) : work();
  }

  remove(): void {
    this.#bestEffort(() => this.#syscalls.removeFile(this.#file));
  }

  /** A second ADD that fails leaves the first one's record. */
  #add<T>(work: () => T): T {
    const isFirst = !this.#isThere();
    if (isFirst) this.#write();
    try {
      const result = work();
      // A concurrent DEL that came too early for what was made may have removed the record.
      if (!isFirst || !this.#isThere()) this.#write();
      return result;
    } catch (error) {
      if (isFirst) this.remove();
      throw error;
    }
  }

  #isThere(): boolean {
    return this.#syscalls.exists(this.#file);
  }

  #write(): void {
    const { network, containerId, ifname, netns, stdin } = this.#request;
    if (stdin.length > CONFIG_CHARACTERS || containerId.length > ID_CHARACTERS) return;
    const record: AttachmentRecord = { plugin: this.#plugin, network, containerId, ifname, netns, config: stdin };
    this.#bestEffort(() => this.#syscalls.replaceFile(this.#file, JSON.stringify(record)));
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
