/** Interfaces with a driver, bonds and their members, which no network namespace of this machine may have. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVERY_BRIDGE } from "../../src/bridge-marker/bridge-resources.ts";
import { NodeLinks } from "../../src/bridge-marker/node-links.ts";
import { parseLinkEvent } from "../../src/links/link-event.ts";
import { pluginPath } from "../netns/cni-call.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const parts = guestPartsOrReason();
/** Two NICs of one driver and one of another. */
const TUNNEL =
  "transport=l2tpv3,udp=1,src=127.0.0.1,dst=127.0.0.1,srcport=40001,dstport=40002,tx_session=1,rx_session=1";
const NICS = ["eth0=mcast,52:54:00:00:00:01", "eth1=mcast,52:54:00:00:00:02", `vec0:${TUNNEL},mac=52:54:00:00:00:03`];

describe.skipIf(typeof parts === "string")(`host addresses${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let monitor: string;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    const options = { modules: ["bonding", "team", "tun", "macvtap"], arguments: NICS };
    [guest, monitor] = await Promise.all([Guest.boot(parts, options), pluginPath("link-monitor")]);
  });
  afterAll(() => guest?.[Symbol.asyncDispose]());

  async function ip(...argv: string[]): Promise<void> {
    expect(await guest.run([guest.ip, ...argv])).toMatchObject({ code: 0, stderr: "" });
  }

  /** Without standard input, the monitor prints what there is and ends. */
  async function links(...options: string[]): Promise<NodeLinks> {
    const { stdout } = await guest.run([monitor, ...options]);
    const links = new NodeLinks(EVERY_BRIDGE, () => false);
    for (const line of stdout.trimEnd().split("\n")) {
      const event = parseLinkEvent(line);
      if (event === undefined) throw new Error(`the monitor printed ${line}`);
      links.apply(event);
    }
    expect(links.synced).toBe(true);
    return links;
  }

  /** As the marker would report them. */
  async function addresses(): Promise<string[]> {
    return (await links()).hostAddresses().addresses.map(({ mac, interface: name }) => `${name} ${mac}`);
  }

  it("are those of NICs and bonds, with what the hardware of a bond's members and of a VM's interface came with, and nothing that software made", async () => {
    await ip("link", "del", "bond0");
    await ip("link", "add", "br1", "type", "bridge");
    await ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth1");
    await ip("link", "add", "dummy1", "type", "dummy");
    await ip("link", "add", "link", "vec0", "name", "vec0.7", "type", "vlan", "id", "7");
    await ip("tuntap", "add", "dev", "tap0", "mode", "tap");
    await ip("link", "set", "vec0", "master", "br1");
    expect(await addresses()).toEqual(["vec0 52:54:00:00:00:03", "eth0 52:54:00:00:00:01", "eth1 52:54:00:00:00:02"]);

    await ip("link", "add", "bond1", "type", "bond");
    for (const member of ["eth0", "eth1"]) await ip("link", "set", member, "master", "bond1");
    await ip("link", "add", "team0", "address", "52:54:00:00:00:04", "type", "team");
    const bonded = ["bond1 52:54:00:00:00:01", "team0 52:54:00:00:00:04"];
    expect(await addresses()).toEqual([...bonded, "vec0 52:54:00:00:00:03", "eth1 52:54:00:00:00:02"]);

    await ip("link", "del", "bond1");
    await ip("link", "add", "link", "eth1", "name", "vm0", "type", "macvtap", "mode", "passthru");
    await ip("link", "set", "vm0", "address", "52:54:00:00:00:99");
    const { stdout } = await guest.run([guest.ip, "-o", "link", "show", "eth1"]);
    expect(stdout).toContain("link/ether 52:54:00:00:00:99");
    expect((await addresses()).join()).not.toContain("52:54:00:00:00:99");
    expect(await addresses()).toEqual(expect.arrayContaining(["eth0 52:54:00:00:00:01", "eth1 52:54:00:00:00:02"]));
  });

  it("stand beside how bridges and their uplinks are set, and which VLANs these pass", async () => {
    await ip("link", "del", "br1");
    await ip("link", "add", "br2", "type", "bridge", "vlan_filtering", "1", "vlan_default_pvid", "5");
    await ip("link", "set", "vec0", "up", "master", "br2");
    await ip("link", "set", "veth0", "master", "br2");
    const bridge = async (...argv: string[]) => {
      const { code, stderr } = await guest.run(["env", `PATH=${guest.path}`, "bridge", "vlan", ...argv]);
      expect([code, stderr]).toEqual([0, ""]);
    };
    await bridge("add", "dev", "vec0", "vid", "100-110");
    const reported = async () => (await links("--bridges")).bridges().find(({ name }) => name === "br2");
    const br2 = await reported();
    expect(br2).toMatchObject({ vlanFiltering: true, defaultVlan: 5, spanningTree: false, hasAddress: false });
    expect(br2).not.toHaveProperty("canFilterVlans");
    expect(br2?.uplinks).toEqual([
      { name: "vec0", carrier: expect.any(Boolean), mtu: expect.any(Number), vlans: ["5", "100-110"], untaggedVlan: 5 },
    ]);
    await bridge("delete", "dev", "vec0", "vid", "5");
    expect((await reported())?.uplinks?.[0]).toMatchObject({ vlans: ["100-110"] });
    expect((await reported())?.uplinks?.[0]).not.toHaveProperty("untaggedVlan");

    await ip("link", "add", "link", "veth1", "name", "up.7", "type", "vlan", "id", "7");
    for (const link of ["veth0", "veth1", "up.7"]) await ip("link", "set", link, "up");
    await ip("link", "set", "up.7", "master", "br2");
    const carrier = async () => (await reported())?.uplinks?.find(({ name }) => name === "up.7")?.carrier;
    await expect.poll(carrier).toBe(true);
    await ip("link", "set", "veth0", "down");
    await expect.poll(carrier).toBe(false);
    for (let id = 200; id < 280; id += 2) await bridge("add", "dev", "vec0", "vid", `${id}`);
    expect((await reported())?.uplinks?.[0]).not.toHaveProperty("vlans");
  });

  it("stand beside VLANs of an uplink that change while somebody listens", async () => {
    await ip("link", "add", "br3", "type", "bridge", "vlan_filtering", "1");
    const script = `mkfifo "$0.in" && touch "$0.out" && { ${monitor} --bridges < "$0.in" > "$0.out" & } && exec 3> "$0.in"
      until grep -q synced "$0.out"; do sleep 0.1; done
      ip link set eth0 master br3
      bridge vlan add dev eth0 vid 7-9
      until grep eth0 "$0.out" | tail -n 1 | grep -q '"vlans":."1","7-9".'; do sleep 0.1; done
      bridge vlan delete dev eth0 vid 7-9
      until grep eth0 "$0.out" | tail -n 1 | grep -q '"vlans":."1".'; do sleep 0.1; done
      ip link set eth0 nomaster
      until grep eth0 "$0.out" | tail -n 1 | grep -vq vlans; do sleep 0.1; done`;
    const path = `${guest.shared}/bridges`;
    const { code, stderr } = await guest.run(["env", `PATH=${guest.path}`, "sh", "-ec", script, path]);
    expect([code, stderr]).toEqual([0, ""]);
  });
});
