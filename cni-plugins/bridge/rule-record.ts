/** What the steps of an ADD that make rules share: the socket, and the record that DEL finds them by. */

import { errnoOf, type NetlinkSocket } from "../netlink/netlink-socket.ts";
import { type AddState, made } from "./add-state.ts";
import { type AttachmentRecord, removeRecord, saveRecord } from "./attachment-record.ts";
import { openNetfilter } from "./netfilter.ts";

export function netfilterOf(state: AddState): NetlinkSocket {
  state.netfilter ??= openNetfilter(state.call.host);
  return state.netfilter;
}

/** DEL finds what it wants without the record too, by a search. */
export function remember(state: AddState, found: AttachmentRecord): void {
  state.record = { ...state.record, ...found };
  try {
    saveRecord(state.call.host, made(state.portName, "the veth pair"), state.attachment, state.record);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    state.call.warn(
      `DEL will take longer, its record can't be kept: ${error instanceof Error ? error.message : error}`,
    );
  }
}

export function forget({ call, portName }: AddState): void {
  if (portName !== undefined) removeRecord(call.host, portName);
}
