/** Two wires from one bridge to one switch, of which the spanning tree protocol closes one: no address of the node is on both sides. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frameFrom, sendInTurn } from "../netns/frames.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";
import { eventually } from "../support/eventually.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";
import { StationMonitor } from "./station-monitor.ts";

const [OURS, THEIRS, TWIN] = ["02:5d:1c:00:00:01", "02:5d:1c:00:00:02", "02:5d:1c:00:00:03"] as const;
/** In hundredths of a second, the shortest that the kernel takes. */
const FAST_STP = ["stp_state", "1", "forward_delay", "200", "hello_time", "100", "max_age", "600"];
const WIRES = ["wire0", "wire1"] as const;

const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(`a loop${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let testbed: Testbed;
  let node: Namespace;
  let others: Namespace;
  let monitor: StationMonitor;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    guest = await Guest.boot(parts);
    testbed = await Testbed.create(guest);
    await testbed.node.ip("link", "add", "switch", "up", "type", "bridge");
    node = await testbed.container();
    await node.ip("link", "add", "br1", "up", "type", "bridge", ...FAST_STP);
    for (const wire of WIRES) await plug(wire, node);
    others = await testbed.container();
    await plug("out", others);
    await node.ip("link", "add", "tap", "master", "br1", "up", "type", "veth", "peer", "name", "vm");
    await node.ip("link", "set", "vm", "up");
    for (const wire of WIRES) await node.ip("link", "set", `${wire}.7`, "master", "br1");
    monitor = await StationMonitor.start(guest, node, "loop");
  }, 120_000);
  afterAll(async () => {
    await monitor?.[Symbol.asyncDispose]();
    await testbed?.[Symbol.asyncDispose]();
    await guest?.[Symbol.asyncDispose]();
  });

  /** A wire from there to the switch, and a VLAN on it. */
  async function plug(wire: string, there: Namespace): Promise<void> {
    const hub = testbed.node;
    await hub.ip("link", "add", `to-${wire}`, "type", "veth", "peer", "name", wire, "netns", `${there.pid}`);
    await hub.ip("link", "set", `to-${wire}`, "up", "master", "switch");
    await there.ip("link", "set", wire, "up");
    await there.ip("link", "add", "link", wire, "name", `${wire}.7`, "up", "type", "vlan", "id", "7");
  }

  const state = async (wire: string): Promise<string | undefined> =>
    (await node.link(`${wire}.7`))?.linkinfo?.info_slave_data?.state;
  const limits = { limitMs: 60_000, state: () => monitor.text.slice(-2000) };

  /** The VM speaks, and a station that is none of ours after it. */
  const speak = (mac: string, ours: string, times: number): Promise<void> =>
    sendInTurn(
      testbed.node,
      Array.from({ length: times }).flatMap((): [string, string, string][] => [
        ["vm", frameFrom(ours), node.path],
        ["out.7", frameFrom(mac), others.path],
      ]),
    );

  /** One wire forwards and the other one does not. */
  const settled = (): Promise<unknown> =>
    eventually(
      "the spanning tree has closed one wire",
      async () => {
        const states = await Promise.all(WIRES.map(state));
        return states.toSorted().join() === "blocking,forwarding";
      },
      limits,
    );

  it("that the spanning tree closes is no twin of a VM, when it is closed and when it opens the other way", async () => {
    await settled();
    await speak(THEIRS, OURS, 10);
    await eventually("the station is seen", async () => monitor.at(THEIRS) !== undefined, limits);
    const first = (await state("wire0")) === "forwarding" ? "wire0" : "wire1";
    await node.ip("link", "set", first, "down");
    await speak(THEIRS, OURS, 10);
    await node.ip("link", "set", first, "up");
    await speak(THEIRS, OURS, 10);
    await settled();
    await speak(THEIRS, OURS, 10);
    await speak(TWIN, TWIN, 4);
    await eventually("the twin is found", async () => monitor.flaps(TWIN), limits);
    expect([monitor.at(OURS), monitor.flaps(THEIRS)]).toEqual([undefined, false]);
  });
});
