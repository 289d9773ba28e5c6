/** What the steps of an ADD know and have made so far. */

import type { Link } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Call } from "../protocol/plugin.ts";
import type { Attachment } from "./attachment.ts";
import type { BridgeConfig } from "./config.ts";

export interface AddState {
  readonly call: Call;
  readonly config: BridgeConfig;
  readonly attachment: Attachment;
  readonly mac: Uint8Array;
  /** Descriptor of the container's namespace. */
  readonly netns: number;
  readonly node: NetlinkSocket;
  readonly container: NetlinkSocket;
  bridge: Link | undefined;
  /** The bridge is this call's. */
  bridgeCreated: boolean;
  /** Promiscuous mode was switched on by this call. */
  promiscuousSet: boolean;
  /** Name of the node's end of the pair, once this call made it. */
  portName: string | undefined;
  /** The node's end of the pair as it was last read. */
  port: Link | undefined;
}

export function made<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`a step needs ${what} before it was made`);
  return value;
}
