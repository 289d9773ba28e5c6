/** Three nodes and a station that is none of theirs, joined by wires through a switch: who is seen where, and who on both sides. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frameFrom, sendInTurn } from "../netns/frames.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";
import { eventually } from "../support/eventually.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";
import { StationMonitor } from "./station-monitor.ts";

const [MOVING, TWIN] = ["02:5d:1c:00:00:01", "02:5d:1c:00:00:02"] as const;
const OUT_OF_RANGE = "02:5d:1d:00:00:01";
const NODES = ["a", "b", "c"] as const;
type Node = (typeof NODES)[number];

const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(`nodes on a wire${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let testbed: Testbed;
  let outside: Namespace;
  const nodes = new Map<Node, Namespace>();
  const monitors = new Map<Node, StationMonitor>();

  beforeAll(async () => {
    if (typeof parts === "string") return;
    guest = await Guest.boot(parts);
    testbed = await Testbed.create(guest);
    await testbed.node.ip("link", "add", "switch", "up", "type", "bridge");
    outside = await wired("outside");
    for (const name of NODES) {
      const node = await wired(name);
      nodes.set(name, node);
      await node.ip("link", "add", "br1", "up", "type", "bridge");
      await node.ip("link", "add", "tap", "type", "veth", "peer", "name", "vm");
      for (const port of ["tap", "wire.7"]) await node.ip("link", "set", port, "master", "br1");
      for (const link of ["tap", "vm"]) await node.ip("link", "set", link, "up");
      monitors.set(name, await StationMonitor.start(guest, node, name));
    }
  }, 120_000);
  afterAll(async () => {
    for (const monitor of monitors.values()) await monitor[Symbol.asyncDispose]();
    await testbed?.[Symbol.asyncDispose]();
    await guest?.[Symbol.asyncDispose]();
  });

  /** A namespace with a wire to the switch, and a VLAN on it. */
  async function wired(name: string): Promise<Namespace> {
    const { node } = testbed;
    const made = await testbed.container();
    await node.ip("link", "add", `to-${name}`, "type", "veth", "peer", "name", `wire-${name}`);
    await node.ip("link", "set", `wire-${name}`, "netns", `${made.pid}`);
    await node.ip("link", "set", `to-${name}`, "up", "master", "switch");
    await made.ip("link", "set", `wire-${name}`, "name", "wire", "up");
    await made.ip("link", "add", "link", "wire", "name", "wire.7", "up", "type", "vlan", "id", "7");
    return made;
  }

  /** VMs send a frame from there, or the station that is none of ours does; one after another, within a second. */
  const speak = (mac: string, ...places: (Node | "outside")[]): Promise<void> =>
    sendInTurn(
      testbed.node,
      places.map((place) => {
        const from = place === "outside" ? outside : nodes.get(place);
        return [place === "outside" ? "wire.7" : "vm", frameFrom(mac), from?.path ?? ""];
      }),
    );

  const at = (name: Node, mac: string) => monitors.get(name)?.at(mac);
  const flaps = (name: Node, mac: string): boolean => monitors.get(name)?.flaps(mac) === true;
  const state = () => NODES.map((name) => `${name}: ${JSON.stringify(monitors.get(name)?.seen())}`).join("\n");

  it("find on both sides who has a twin outside, on its own node alone, and nobody who migrates or starts elsewhere", async () => {
    await speak(MOVING, "a", "b", "a", "c");
    await speak(TWIN, "a", "outside", "a", "outside", "a", "outside");
    await speak(OUT_OF_RANGE, "a", "outside", "a", "outside", "a", "outside");
    await eventually("the twin outside the ranges is found", async () => flaps("a", OUT_OF_RANGE), {
      limitMs: 30_000,
      state,
    });
    await eventually("the twin is found", async () => flaps("a", TWIN), { limitMs: 30_000, state });
    await eventually("all nodes see both", async () => at("b", TWIN) && at("c", TWIN) && at("b", MOVING), {
      limitMs: 30_000,
      state,
    });
    expect(NODES.filter((name) => flaps(name, TWIN))).toEqual(["a"]);
    expect(NODES.filter((name) => flaps(name, MOVING))).toEqual([]);
    expect(at("a", MOVING)).toBeDefined();
    expect(NODES.filter((name) => at(name, OUT_OF_RANGE))).toEqual(["a"]);
  });
});
