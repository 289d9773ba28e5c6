/**
 * What an interface was before it was tuned: one private file an attachment, in the form of the reference plugin, which
 * restores from ours and ours from its. Ours also names the network and its namespace, so that files whose attachment
 * is gone are recognised.
 */

import { type Host, OWN_NETNS } from "../host/host.ts";
import { ENOENT } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { parseObject } from "../protocol/json-object.ts";
import type { Request } from "../protocol/request.ts";

export const DEFAULT_DATA_DIR = "/run/cni/tuning";

/** Each present when it was changed. */
export interface Originals {
  readonly mac?: string;
  readonly promisc?: boolean;
  readonly mtu?: number;
  readonly allmulti?: boolean;
  readonly txQLen?: number;
}

export function stateFile(dataDir: string, { containerId, ifname }: Pick<Request, "containerId" | "ifname">): string {
  return `${dataDir}/${containerId}_${ifname}.json`;
}

/** Undefined when there is no file; empty when it can't be understood. */
export function readOriginals(host: Host, file: string): Originals | undefined {
  // An error costs much more than this question, and most ADDs find none.
  if (!host.exists(file)) return undefined;
  try {
    return parseOriginals(host.readFile(OWN_NETNS, file));
  } catch (error) {
    if (errnoOf(error) === ENOENT) return undefined;
    throw error;
  }
}

/** Of two ADDs the first one saw the originals: what was saved goes before what is now. */
export function saveOriginals(host: Host, file: string, originals: Originals, request: Request): void {
  const { mac, promisc, mtu, allmulti, txQLen } = originals;
  const { network, netns } = request;
  host.replaceFile(file, `${JSON.stringify({ mac, promisc, mtu, allmulti, txQLen, network, netns }, null, " ")}\n`);
}

export function removeState(host: Host, file: string): void {
  try {
    host.removeFile(file);
  } catch (error) {
    if (errnoOf(error) !== ENOENT) throw error;
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
