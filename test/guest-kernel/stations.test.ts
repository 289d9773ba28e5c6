/** What bridges learn at their uplinks, on a kernel that has VLAN links: this machine's may have no link that counts as an uplink. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frameFrom, sendInTurn } from "../netns/frames.ts";
import { Testbed } from "../netns/testbed.ts";
import { eventually } from "../support/eventually.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";
import { numberOf, StationMonitor } from "./station-monitor.ts";

const [OURS, THEIRS, OTHER] = ["02:5d:1c:00:00:01", "02:5d:1c:00:00:02", "02:5d:1d:00:00:01"] as const;

const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(`stations${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let testbed: Testbed;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    guest = await Guest.boot(parts);
    testbed = await Testbed.create(guest);
  });
  afterAll(async () => {
    await testbed?.[Symbol.asyncDispose]();
    await guest?.[Symbol.asyncDispose]();
  });

  it("are those in the ranges beyond an uplink, and flap with an address of the node's own", async () => {
    const { node } = testbed;
    await node.ip("link", "add", "br1", "up", "type", "bridge", "vlan_filtering", "1", "vlan_default_pvid", "5");
    await node.ip("link", "add", "wire", "type", "veth", "peer", "name", "outside");
    await node.ip("link", "add", "tap", "type", "veth", "peer", "name", "vm");
    await node.ip("link", "add", "link", "wire", "name", "up.7", "type", "vlan", "id", "7");
    await node.ip("link", "add", "link", "outside", "name", "out.7", "type", "vlan", "id", "7");
    for (const name of ["tap", "up.7"]) await node.ip("link", "set", name, "master", "br1");
    for (const name of ["wire", "outside", "vm", "tap", "up.7", "out.7"]) await node.ip("link", "set", name, "up");
    const port = (await node.link("up.7"))?.ifindex;
    await sendInTurn(node, [
      ["out.7", frameFrom(THEIRS)],
      ["out.7", frameFrom(OTHER)],
      ["vm", frameFrom(OURS)],
    ]);

    await using monitor = await StationMonitor.start(guest, node, "node");
    await eventually("the dump has the station", async () => monitor.seen().length > 0, { state: () => monitor.text });
    const theirs = { mac: numberOf(THEIRS), port, vlan: 5, age: expect.any(Number), flapAge: undefined };
    expect(monitor.seen()).toEqual([theirs]);

    // The monitor does not know the first place: that was learned before.
    const bothSides = [0, 1, 2, 3].flatMap((): [string, string][] => [
      ["vm", frameFrom(OURS)],
      ["out.7", frameFrom(OURS)],
    ]);
    await sendInTurn(node, bothSides);
    await eventually("it flaps", async () => monitor.seen().length > 1, { limitMs: 30_000 });
    expect(monitor.seen()).toEqual(
      expect.arrayContaining([theirs, { ...theirs, mac: numberOf(OURS), flapAge: expect.any(Number) }]),
    );
  });
});
