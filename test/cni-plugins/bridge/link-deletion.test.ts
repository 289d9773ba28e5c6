import { beforeEach, describe, expect, it } from "vitest";
import { deleteEarly } from "../../../cni-plugins/bridge/link-deletion.ts";
import { OWN_NETNS } from "../../../cni-plugins/host/host.ts";
import { ENOBUFS } from "../../../cni-plugins/netlink/errno.ts";
import { getLink } from "../../../cni-plugins/netlink/link.ts";
import { NetlinkSocket } from "../../../cni-plugins/netlink/netlink-socket.ts";
import { MemoryHost } from "../memory-host.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import type { MemoryLink } from "../memory-link.ts";

let kernel: MemoryKernel;
let host: MemoryHost;
let socket: NetlinkSocket;
let link: MemoryLink;

beforeEach(() => {
  kernel = new MemoryKernel();
  host = new MemoryHost(kernel);
  socket = new NetlinkSocket(host);
  link = kernel.addLink({ name: "veth1", kind: "veth" });
});

const remove = () => deleteEarly({ host, netns: OWN_NETNS, socket }, link.index);
const names = () => kernel.links.map(({ name }) => name);

describe("an early answer to a deletion", () => {
  it("does not wait for the end of the child that asked for it", () => {
    kernel.child = "lives";
    remove();
    expect(names()).toEqual([]);
  });

  it("is not given for the deletion of another link", () => {
    const other = kernel.addLink({ name: "veth2", kind: "veth" });
    kernel.child = "killed";
    host.onPoll = () => kernel.removeLink(other);
    remove();
    expect(names()).toEqual([]);
  });

  it.each(["refused", "killed"] as const)("comes later where the child is %s", (child) => {
    kernel.child = child;
    remove();
    expect(names()).toEqual([]);
    expect(kernel.requests).toBe(1);
  });

  it("comes later where the kernel announces nothing", () => {
    host.watchLinkDeletion = () => {
      throw Object.assign(new Error("socket failed"), { errno: ENOBUFS });
    };
    remove();
    expect(names()).toEqual([]);
  });

  it("is given for a link that somebody else deleted", () => {
    kernel.removeLink(link);
    remove();
    expect(names()).toEqual([]);
  });

  it("is given again as a refusal when the kernel refuses", () => {
    kernel.refusesDeletions = true;
    expect(remove).toThrow("the kernel refused to delete interface");
    expect(names()).toEqual(["veth1"]);
  });

  it("leaves the socket to further requests, whatever is answered to the child", () => {
    kernel.addLink({ name: "veth2", kind: "veth" });
    remove();
    const [answer] = socket.run(getLink(socket.batch(), "veth2"));
    expect(answer?.messages).toHaveLength(1);
  });
});
