/** What tuning says when the kernel does not take a value: the key, the value, why, and what to do. */

import { beforeEach, describe, expect, it } from "vitest";
import { cni, pluginPath } from "./cni-call.ts";
import { call, container, freshNode } from "./fresh-node.ts";

freshNode();

beforeEach(async () => {
  await container.ip("link", "add", "net1", "address", "02:00:00:00:00:01", "type", "veth", "peer", "name", "peer1");
});

async function refusal(more: object): Promise<unknown> {
  const prevResult = { cniVersion: "1.0.0", interfaces: [{ name: "net1", sandbox: container.path }] };
  const config = { cniVersion: "1.0.0", name: "net", type: "tuning", prevResult, ...more };
  const before = await container.links();
  const { code, json } = await cni("ADD", { ...call, executable: await pluginPath("tuning") }, config);
  expect(code).toBe(1);
  expect(await container.links()).toEqual(before);
  return [json?.code, json?.msg];
}

describe("a refused value of the interface", () => {
  it("is named with what the interface takes: a large MTU", async () => {
    expect(await refusal({ mac: "02:00:00:00:00:02", mtu: 70_000_000, txQLen: 7 })).toEqual([
      101,
      expect.stringMatching(
        /^"mtu": 70000000 can't be set on interface net1: the kernel refused to set the MTU of interface \d+: mtu greater than device maximum \(EINVAL, invalid argument\): write a number from 68 to 65535$/,
      ),
    ]);
  });

  it("is named with what the interface takes: a small MTU", async () => {
    expect(await refusal({ promisc: true, allmulti: true, mtu: 5 })).toEqual([
      101,
      expect.stringMatching(/^"mtu": 5 can't .*mtu less than device minimum .*: write a number from 68 to 65535$/),
    ]);
  });

  it("is named: a transmit queue that there is no memory for", async () => {
    await container.run(["/usr/sbin/tc", "qdisc", "add", "dev", "net1", "root", "pfifo_fast"]);
    await container.ip("link", "set", "net1", "up");
    expect(await refusal({ mtu: 1400, txQLen: 0x7fffffff })).toEqual([
      101,
      expect.stringMatching(
        /^"txQLen": 2147483647 can't .* \(ENOMEM, out of memory\): write a number from 0 to 1000000; the kernel's default is/,
      ),
    ]);
  });

  it("is named: a MAC, of a kind of interface that keeps its own", async () => {
    await container.ip("link", "del", "net1");
    await container.ip("link", "add", "net1", "type", "ifb");
    expect(await refusal({ promisc: true, mac: "02:00:00:00:00:02" })).toEqual([
      101,
      expect.stringMatching(/^"mac": 02:00:00:00:00:02 can't be set on interface net1: the kernel .*: choose another/),
    ]);
  });
});

describe("a refused sysctl", () => {
  it("that there is none of", async () => {
    expect(await refusal({ sysctl: { "net.ipv4.nonsense": "1" } })).toEqual([
      101,
      `cannot set sysctl "net.ipv4.nonsense" to "1": there is no such sysctl in the container's network namespace: correct the key (IFNAME stands for the container's interface), or load the kernel module that has it on the node`,
    ]);
  });

  it("that the kernel does not take", async () => {
    expect(await refusal({ sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "no number" } })).toEqual([
      101,
      expect.stringMatching(
        /^cannot set sysctl "net\.ipv4\.conf\.IFNAME\.arp_notify" to "no number": E.*: write a value/,
      ),
    ]);
  });

  it("that can't be written", async () => {
    expect(await refusal({ sysctl: { "net.ipv4.tcp_available_congestion_control": "reno" } })).toEqual([
      101,
      expect.stringMatching(/^cannot set sysctl .* to "reno": E.*: remove it: it can't be written in a container$/),
    ]);
  });
});
