import { beforeEach, describe, expect, it } from "vitest";
import { deletePorts } from "../../../cni-plugins/bridge/port-deletion.ts";
import { NetlinkSocket } from "../../../cni-plugins/netlink/netlink-socket.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import type { MemoryLink } from "../memory-link.ts";
import { MemorySyscalls } from "../memory-syscalls.ts";

let kernel: MemoryKernel;
let syscalls: MemorySyscalls;
let port: MemoryLink;

beforeEach(() => {
  kernel = new MemoryKernel();
  syscalls = new MemorySyscalls(kernel);
  port = kernel.addLink({ name: "veth1", kind: "veth" });
});

const deletePort = (find = () => [port]) => deletePorts(syscalls, new NetlinkSocket(syscalls), find);
const names = () => kernel.links.map(({ name }) => name);

describe("deletion of a port", () => {
  it("deletes at once when nobody else needs the kernel", () => {
    syscalls.onPoll = () => expect(names()).toEqual([]);
    deletePort();
    expect(names()).toEqual([]);
  });

  it("waits for others when the kernel is busy, and asks for nothing more when one of them was faster", () => {
    deletePort(() => {
      syscalls.poll([], 5);
      syscalls.onPoll = () => kernel.removeLink(port);
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
