/**
 * The part of the kernel that the plugins use, in memory, behind the same seam as the real one: it decodes their
 * rtnetlink messages and answers in rtnetlink. One call can be made to fail. What only the real kernel can show (that
 * the bytes mean to it what we think) is for `test/netns`.
 */

import * as errno from "../../cni-plugins/netlink/errno.ts";
import { MessageBatch } from "../../cni-plugins/netlink/message-batch.ts";
import { eachAttribute, type Message, readMessages, readText } from "../../cni-plugins/netlink/message-reader.ts";
import type { NetlinkTransport } from "../../cni-plugins/netlink/netlink-socket.ts";
import * as nl from "../../cni-plugins/netlink/rtnetlink.ts";
import { describeLink, type MemoryLink } from "./memory-link.ts";

/** Netlink messages as the kernel in memory reads and writes them. */

interface Attributes {
  readonly numbers: Record<number, number>;
  readonly texts: Record<number, string>;
  readonly bytes: Record<number, Uint8Array>;
  readonly nested: Record<number, Attributes>;
}

function acknowledgement({ sequence }: Message, code: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(36));
  view.setUint32(0, 36, true);
  view.setUint16(4, nl.NLMSG_ERROR, true);
  view.setUint16(6, nl.NLM_F_CAPPED, true);
  view.setUint32(8, sequence, true);
  view.setInt32(16, -code, true);
  return new Uint8Array(view.buffer);
}

function readAttributes(view: DataView, start: number, end: number, inInfo = false): Attributes {
  const all: Attributes = { numbers: {}, texts: {}, bytes: {}, nested: {} };
  eachAttribute(view, start, end, (type, from, to) => {
    all.bytes[type] = new Uint8Array(view.buffer, view.byteOffset + from, to - from);
    all.texts[type] = readText(view, from, to);
    if (to - from === 4) all.numbers[type] = view.getUint32(from, true);
    if (inInfo && type === nl.IFLA_INFO_DATA) all.nested[type] = readPeer(view, from, to);
    else if (type === nl.IFLA_LINKINFO && !inInfo) all.nested[type] = readAttributes(view, from, to, true);
  });
  return all;
}

/** VETH_INFO_PEER has a link header of its own before its attributes. */
function readPeer(view: DataView, start: number, end: number): Attributes {
  const data: Attributes = { numbers: {}, texts: {}, bytes: {}, nested: {} };
  eachAttribute(view, start, end, (type, from, to) => {
    data.nested[type] = readAttributes(view, from + 16, to);
  });
  return data;
}

interface Socket {
  readonly namespace: string;
  readonly groups: number;
  readonly inbox: Uint8Array[];
  overflowed: boolean;
}

class KernelFailure extends Error {
  readonly errno: number;
  readonly syscall: string;

  constructor(syscall: string, code: number) {
    super(`${syscall} failed`);
    this.syscall = syscall;
    this.errno = code;
  }
}

/** The namespace that the plugin runs in. */
export const NODE_NAMESPACE = "node";
const OWN_NAMESPACE = "/proc/self/ns/net";

export class MemoryKernel implements NetlinkTransport {
  readonly links: MemoryLink[] = [];
  readonly namespaces = new Set([NODE_NAMESPACE]);
  /** Count of requests so far, and the one to refuse (0 for none). */
  requests = 0;
  refuseRequest = 0;
  /** Whether the ends of a pair see each other. */
  carrier = true;
  readonly #descriptors = new Map<number, Socket | string>();
  #nextDescriptor = 3;
  #nextIndex = 2;

  addLink(link: Partial<MemoryLink> & { name: string }): MemoryLink {
    const added: MemoryLink = {
      index: this.#nextIndex++,
      namespace: NODE_NAMESPACE,
      kind: "bridge",
      mac: new Uint8Array([2, 0, 0, 0, 0, this.#nextIndex]),
      mtu: 1500,
      up: true,
      master: 0,
      alias: "",
      filtering: false,
      peer: undefined,
      ...link,
    };
    this.links.push(added);
    this.#announce(nl.RTM_NEWLINK, added);
    return added;
  }

  removeLink(link: MemoryLink): void {
    for (const gone of link.peer === undefined ? [link] : [link, link.peer]) {
      const at = this.links.indexOf(gone);
      if (at < 0) continue;
      this.links.splice(at, 1);
      this.#announce(nl.RTM_DELLINK, gone);
    }
  }

  changeLink(link: MemoryLink, change: Partial<MemoryLink>): void {
    Object.assign(link, change);
    this.#announce(nl.RTM_NEWLINK, link);
  }

  /** Tells who listens of the end of a namespace that a link of the node led to. */
  endNamespace(): void {
    const ended = new MessageBatch(0).request("", nl.RTM_DELNSID).encode().slice();
    for (const { inbox } of this.#listeners(NODE_NAMESPACE)) inbox.push(ended);
  }

  find(name: string, namespace = NODE_NAMESPACE): MemoryLink | undefined {
    return this.links.find((link) => link.name === name && link.namespace === namespace);
  }

  /** Makes the sockets that listen lose what is waiting for them. */
  overflow(): void {
    for (const socket of this.#listeners(NODE_NAMESPACE)) {
      socket.inbox.length = 0;
      socket.overflowed = true;
    }
  }

  isReadable(fd: number): boolean {
    const socket = this.#descriptors.get(fd);
    return typeof socket === "object" && (socket.inbox.length > 0 || socket.overflowed);
  }

  openNamespace(path: string): number {
    const namespace = path === OWN_NAMESPACE ? NODE_NAMESPACE : path;
    if (!this.namespaces.has(namespace)) throw new KernelFailure(`open ${path}`, errno.ENOENT);
    this.#descriptors.set(this.#nextDescriptor, namespace);
    return this.#nextDescriptor++;
  }

  namespaceOf(fd: number): string {
    const namespace = this.#descriptors.get(fd);
    if (typeof namespace !== "string") throw new KernelFailure("setns", errno.EINVAL);
    return namespace;
  }

  netlinkOpen(netns: number, groups: number): number {
    const namespace = netns < 0 ? NODE_NAMESPACE : this.namespaceOf(netns);
    this.#descriptors.set(this.#nextDescriptor, { namespace, groups, inbox: [], overflowed: false });
    return this.#nextDescriptor++;
  }

  netlinkSend(fd: number, bytes: Uint8Array): void {
    const socket = this.#socket(fd);
    for (const message of readMessages(bytes)) {
      this.requests++;
      let code = 0;
      try {
        if (this.requests === this.refuseRequest) throw new KernelFailure("request", errno.ENOBUFS);
        this.#answer(socket, message);
      } catch (error) {
        if (!(error instanceof KernelFailure)) throw error;
        code = error.errno;
      }
      socket.inbox.push(acknowledgement(message, code));
    }
  }

  netlinkReceive(fd: number, buffer: Uint8Array): number {
    const socket = this.#socket(fd);
    if (socket.overflowed) {
      socket.overflowed = false;
      throw new KernelFailure("netlink receive", errno.ENOBUFS);
    }
    const datagram = socket.inbox.shift();
    if (datagram === undefined) throw new KernelFailure("netlink receive", errno.EAGAIN);
    buffer.set(datagram);
    return datagram.length;
  }

  close(fd: number): void {
    this.#descriptors.delete(fd);
  }

  #socket(fd: number): Socket {
    const socket = this.#descriptors.get(fd);
    if (socket === undefined || typeof socket === "string") throw new Error(`descriptor ${fd} is no socket`);
    return socket;
  }

  #listeners(namespace: string): Socket[] {
    const sockets = [...this.#descriptors.values()].filter((one) => typeof one !== "string");
    return sockets.filter((socket) => socket.namespace === namespace && socket.groups !== 0);
  }

  #announce(type: number, link: MemoryLink): void {
    for (const { inbox } of this.#listeners(link.namespace)) inbox.push(describeLink(type, 0, link, this.carrier));
  }

  /** Addresses, routes and the end of a port's VLAN are taken and forgotten. */
  #answer(socket: Socket, message: Message): void {
    const { view, start, type, flags, sequence } = message;
    if (type > nl.RTM_SETLINK || (type === nl.RTM_DELLINK && view.getUint8(start) === nl.AF_BRIDGE)) return;
    const index = view.getInt32(start + 4, true);
    const attributes = readAttributes(view, start + 16, message.end);
    if (type === nl.RTM_GETLINK && (flags & nl.NLM_F_DUMP) === nl.NLM_F_DUMP) {
      const master = attributes.numbers[nl.IFLA_MASTER] ?? 0;
      const wanted = this.links.filter(
        (one) => one.namespace === socket.namespace && (master === 0 || one.master === master),
      );
      for (const one of wanted) socket.inbox.push(describeLink(nl.RTM_NEWLINK, sequence, one, this.carrier));
      return;
    }
    if (type === nl.RTM_NEWLINK && (flags & nl.NLM_F_CREATE) !== 0) {
      this.#create(socket.namespace, attributes);
      return;
    }
    const link = this.#lookUp(socket.namespace, index, attributes.texts[nl.IFLA_IFNAME]);
    if (type === nl.RTM_GETLINK) socket.inbox.push(describeLink(nl.RTM_NEWLINK, sequence, link, this.carrier));
    else if (type === nl.RTM_DELLINK) this.removeLink(link);
    else this.#change(link, view.getUint32(start + 8, true), view.getUint32(start + 12, true), attributes);
  }

  #lookUp(namespace: string, index: number, name: string | undefined): MemoryLink {
    const local = this.links.filter((one) => one.namespace === namespace);
    const link = local.find((one) => (index === 0 ? one.name === name : one.index === index));
    if (link === undefined) throw new KernelFailure("request", errno.ENODEV);
    return link;
  }

  #create(namespace: string, { texts, numbers, bytes, nested }: Attributes): void {
    const name = texts[nl.IFLA_IFNAME] ?? "";
    const info = nested[nl.IFLA_LINKINFO];
    const mtu = numbers[nl.IFLA_MTU] ?? 1500;
    const master = numbers[nl.IFLA_MASTER] ?? 0;
    if (this.find(name, namespace) !== undefined) throw new KernelFailure("request", errno.EEXIST);
    if (info?.texts[nl.IFLA_INFO_KIND] === "bridge") {
      const filtering = info.nested[nl.IFLA_INFO_DATA] !== undefined;
      this.addLink({ name, namespace, mtu, up: false, filtering, mac: bytes[nl.IFLA_ADDRESS] ?? new Uint8Array(6) });
      return;
    }
    const peer = info?.nested[nl.IFLA_INFO_DATA]?.nested[nl.VETH_INFO_PEER];
    const peerName = peer?.texts[nl.IFLA_IFNAME] ?? "";
    const peerNamespace = this.namespaceOf(peer?.numbers[nl.IFLA_NET_NS_FD] ?? -1);
    if (this.find(peerName, peerNamespace) !== undefined) throw new KernelFailure("request", errno.EEXIST);
    if (!this.links.some((link) => link.index === master)) throw new KernelFailure("request", errno.EINVAL);
    const mac = peer?.bytes[nl.IFLA_ADDRESS] ?? new Uint8Array(6);
    const inside = this.addLink({ name: peerName, namespace: peerNamespace, kind: "veth", mac, mtu, up: false });
    inside.peer = this.addLink({ name, namespace, kind: "veth", mtu, up: false, master, peer: inside });
  }

  #change(link: MemoryLink, flags: number, mask: number, { texts }: Attributes): void {
    if (mask & nl.IFF_UP) link.up = (flags & nl.IFF_UP) !== 0;
    link.alias = texts[nl.IFLA_IFALIAS] ?? link.alias;
    this.#announce(nl.RTM_NEWLINK, link);
  }
}
