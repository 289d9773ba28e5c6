import { beforeEach, describe, expect, it } from "vitest";
import { deletePorts } from "../../../cni-plugins/bridge/port-deletion.ts";
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

const deletePort = (find = () => [port]) => deletePorts(host, new NetlinkSocket(host), find);
const names = () => kernel.links.map(({ name }) => name);

describe("deletion of a port", () => {
  it("deletes at once when nobody else needs the kernel", () => {
    host.onPoll = () => expect(names()).toEqual([]);
    deletePort();
    expect(names()).toEqual([]);
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
});
