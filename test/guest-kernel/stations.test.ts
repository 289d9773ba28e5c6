/** What bridges learn at their uplinks, on a kernel that has VLAN links: this machine's may have no link that counts as an uplink. */

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseLinkEvent, type SeenStation } from "../../src/links/link-event.ts";
import { pluginPath } from "../netns/cni-call.ts";
import { frameFrom, sendInTurn } from "../netns/frames.ts";
import { Testbed } from "../netns/testbed.ts";
import { eventually } from "../support/eventually.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const [OURS, THEIRS, OTHER] = ["02:5d:1c:00:00:01", "02:5d:1c:00:00:02", "02:5d:1d:00:00:01"] as const;
const numberOf = (mac: string): number => Number.parseInt(mac.replaceAll(":", ""), 16);
const QUERY = JSON.stringify({ ranges: [[0x02_5d_1c_00_00_00, 0x02_5d_1c_ff_ff_ff]], seed: 1 });

const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(`stations${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let testbed: Testbed;
  let monitor: string;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    [guest, monitor] = await Promise.all([Guest.boot(parts), pluginPath("link-monitor")]);
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

    const file = `${guest.shared}/stations`;
    const script = `mkfifo "$0.in" && { ${monitor} --bridges < "$0.in" > "$0" & } && exec 3> "$0.in"
      echo '${QUERY}' >&3
      echo && exec cat`;
    const holder = await guest.hold(node.enter(["env", `PATH=${guest.path}`, "sh", "-ec", script, file]));
    const seen = (): readonly SeenStation[] => {
      const events = readFileSync(file, "utf8").split("\n").map(parseLinkEvent);
      const last = events.findLast((event) => event?.event === "stations");
      return last?.event === "stations" ? last.stations : [];
    };
    await eventually("the dump has the station", async () => seen().length > 0, {
      state: () => readFileSync(file, "utf8"),
    });
    const theirs = { mac: numberOf(THEIRS), port, vlan: 5, age: expect.any(Number), flapAge: undefined };
    expect(seen()).toEqual([theirs]);

    // The monitor does not know the first place: that was learned before.
    const bothSides = [0, 1, 2, 3].flatMap((): [string, string][] => [
      ["vm", frameFrom(OURS)],
      ["out.7", frameFrom(OURS)],
    ]);
    await sendInTurn(node, bothSides);
    await eventually("it flaps", async () => seen().length > 1, { limitMs: 30_000 });
    expect(seen()).toEqual(
      expect.arrayContaining([theirs, { ...theirs, mac: numberOf(OURS), flapAge: expect.any(Number) }]),
    );
    await holder?.end();
  });
});
