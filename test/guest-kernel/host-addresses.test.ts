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

  /** As the marker would report them. Without standard input, the monitor prints what there is and ends. */
  async function addresses(): Promise<string[]> {
    const { stdout } = await guest.run([monitor]);
    const links = new NodeLinks(EVERY_BRIDGE, () => false);
    for (const line of stdout.trimEnd().split("\n")) {
      const event = parseLinkEvent(line);
      if (event === undefined) throw new Error(`the monitor printed ${line}`);
      links.apply(event);
    }
    expect(links.synced).toBe(true);
    return links.hostAddresses().addresses.map(({ mac, interface: name }) => `${name} ${mac}`);
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
});
