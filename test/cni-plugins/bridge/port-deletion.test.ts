import { beforeEach, describe, expect, it } from "vitest";
import { DELETED_TOGETHER, deletePorts } from "../../../cni-plugins/bridge/port-deletion.ts";
import { OWN_NETNS } from "../../../cni-plugins/host/host.ts";
import { NetlinkSocket } from "../../../cni-plugins/netlink/netlink-socket.ts";
import { MemoryHost } from "../memory-host.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import type { MemoryLink } from "../memory-link.ts";

let kernel: MemoryKernel;
let host: MemoryHost;
let port: MemoryLink;

beforeEach(() => {
  kernel = new MemoryKernel();
  host = new MemoryHost(kernel);
  port = kernel.addLink({ name: "veth1", kind: "veth" });
});

const deletePort = (find = () => [port]) =>
  deletePorts({ host, netns: OWN_NETNS, socket: new NetlinkSocket(host) }, find);
const names = () => kernel.links.map(({ name }) => name);

describe("deletion of a port", () => {
  it("deletes at once when nobody else needs the kernel", () => {
    host.onPoll = () => expect(names()).toEqual([]);
    deletePort();
    expect(names()).toEqual([]);
  });

  it("takes the ports along that other DELs want deleted, and no others", () => {
    kernel.addLink({ name: "veth2", kind: "veth", group: DELETED_TOGETHER });
    kernel.addLink({ name: "veth3", kind: "veth", group: 1 });
    kernel.addLink({ name: "veth4", kind: "veth" });
    deletePort();
    expect(names()).toEqual(["veth3", "veth4"]);
  });

  it("waits for others when the kernel is busy, and asks for nothing more when one of them was faster", () => {
    deletePort(() => {
      host.poll([], 5);
      host.onPoll = () => kernel.removeLink(port);
      return [port];
    });
    expect(names()).toEqual([]);
    expect(kernel.requests).toBe(1);
  });

  it.each([1, 2])("deletes the port by itself when the kernel refuses request %d about the group", (refused) => {
    kernel.refuseRequest = refused;
    deletePort();
    expect(names()).toEqual([]);
  });

  it("deletes the port where the kernel does not tell which interfaces there are", () => {
    kernel.tellsOfInterfaces = false;
    deletePort();
    expect(names()).toEqual([]);
  });

  it("asks for nothing when there is no port", () => {
    kernel.addLink({ name: "veth2", kind: "veth", group: DELETED_TOGETHER });
    deletePort(() => []);
    expect(names()).toEqual(["veth1", "veth2"]);
    expect(kernel.requests).toBe(0);
  });
});
