/**
 * The state of `tuning`: what an interface was before it was changed. One private file for each attachment, in the form of
 * the reference plugin: either side restores from the other's file. Ours also names the network and the namespace, so that
 * the file of an attachment that is gone is recognised.
 */

import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { ENAMETOOLONG, ENOENT, ENOTDIR } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { CniError, INVALID_ENVIRONMENT } from "./cni-error.ts";
import { parseObject } from "./json-object.ts";
import type { ContainerInterface, Request } from "./request.ts";

export const DEFAULT_DATA_DIR = "/run/cni/tuning";

/** Each present when it was changed. */
export interface Originals {
  readonly mac?: string;
  readonly promisc?: boolean;
  readonly mtu?: number;
  readonly allmulti?: boolean;
  readonly txQLen?: number;
}

export function stateFile(dataDir: string, { containerId, ifname }: ContainerInterface): string {
  return `${dataDir}/${containerId}_${ifname}.json`;
}

const FILE_NAME_CHARACTERS = 255;
const AROUND_ID = "_.json.tmp";

/** Throws where no file can have the name. */
export function requireStateFile({ containerId, ifname }: Request): void {
  const room = FILE_NAME_CHARACTERS - AROUND_ID.length - ifname.length;
  if (containerId.length <= room) return;
  throw new CniError(
    INVALID_ENVIRONMENT,
    `CNI_CONTAINERID has ${containerId.length} characters, but the file that tuning names after it has room for ${room}`,
  );
}

/** Undefined when there is no file; empty when it can't be understood. */
export function readOriginals(syscalls: Syscalls, file: string): Originals | undefined {
  // Most ADDs find no file, and an error costs much more than this question.
  if (!syscalls.exists(file)) return undefined;
  try {
    return parseOriginals(syscalls.readFile(OWN_NETNS, file));
  } catch (error) {
    if (errnoOf(error) === ENOENT) return undefined;
    throw error;
  }
}

/** Written whole or not at all. */
export function saveOriginals(syscalls: Syscalls, file: string, originals: Originals, request: Request): void {
  const { mac, promisc, mtu, allmulti, txQLen } = originals;
  const { network, netns } = request;
  syscalls.replaceFile(file, `${JSON.stringify({ mac, promisc, mtu, allmulti, txQLen, network, netns }, null, " ")}\n`);
}

/** Errors of a file that is not there, and that no ADD could have written. */
const NO_FILE = [ENOENT, ENOTDIR, ENAMETOOLONG];

export function removeState(syscalls: Syscalls, file: string): void {
  try {
    syscalls.removeFile(file);
  } catch (error) {
    if (!NO_FILE.includes(errnoOf(error) ?? 0)) throw error;
  }
}

function parseOriginals(text: string): Originals {
  const { mac, promisc, mtu, allmulti, txQLen } = parseObject(() => text) ?? {};
  return {
    ...(typeof mac === "string" && mac !== "" ? { mac } : {}),
    ...(typeof promisc === "boolean" ? { promisc } : {}),
    ...(typeof mtu === "number" && mtu > 0 ? { mtu } : {}),
    ...(typeof allmulti === "boolean" ? { allmulti } : {}),
    ...(typeof txQLen === "number" ? { txQLen } : {}),
  };
}
