import { describe, expect, it } from "vitest";
import { EVERY_BRIDGE } from "../../src/bridge-marker/bridge-resources.ts";
import { NodeLinks } from "../../src/bridge-marker/node-links.ts";
import { type LinkEvent, parseLinkEvent } from "../../src/links/link-event.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const MAC = 0x02_5d_1c_00_00_a3;

const link = (index: number, name: string, kind: string, more: object = {}): LinkEvent =>
  parseLinkEvent(JSON.stringify({ event: "link", index, name, kind, mtu: 1500, ...more })) as LinkEvent;

const LINKS = [
  link(2, "br1", "bridge"),
  link(3, "br2", "bridge"),
  link(4, "eno2", "", { master: 2, carrier: true }),
  link(5, "eno\u00073", "", { master: 3, carrier: true }),
  link(6, "veth0", "veth", { master: 2 }),
];

/** As the marker reports what the link monitor has printed. */
function reported(printed: readonly unknown[], exclude: readonly string[] = []) {
  const links = new NodeLinks({ ...EVERY_BRIDGE, exclude }, () => false);
  for (const event of LINKS) links.apply(event);
  const event = parseLinkEvent(JSON.stringify({ event: "stations", stations: printed, more: 7 }));
  if (event?.event !== "stations") throw new Error("the line was not understood");
  links.setStations(event, NOW_MS);
  return links.stations();
}

describe("the stations that a node reports", () => {
  it("have bridge, uplink, VLAN and times", () => {
    expect(
      reported([
        [MAC, 4, 100, 5, 65],
        [MAC - 1, 5, 0, 0, -1],
      ]),
    ).toEqual({
      stations: [
        { mac: "02:5d:1c:00:00:a2", bridge: "br2", uplink: "eno?3", lastSeen: "2026-01-02T03:04:05Z" },
        {
          mac: "02:5d:1c:00:00:a3",
          bridge: "br1",
          uplink: "eno2",
          vlan: 100,
          lastSeen: "2026-01-02T03:04:00Z",
          lastFlap: "2026-01-02T03:03:00Z",
        },
      ],
      more: 7,
    });
  });

  it("are none of a bridge that is not published, of a port that leads to no wire, or of what is no address", () => {
    const printed = [
      [MAC, 5, 0, 0, -1],
      [MAC, 6, 0, 0, -1],
      [MAC, 77, 0, 0, -1],
      [2 ** 48, 4, 0, 0, -1],
      [MAC, 4],
      "station",
    ];
    expect(reported(printed, ["br2"]).stations).toEqual([]);
  });

  it("stand in one order, whatever the order of the lines", () => {
    const printed = [
      [MAC, 4, 2, 0, -1],
      [MAC, 5, 0, 0, -1],
      [MAC, 4, 1, 0, -1],
      [MAC - 1, 4, 9, 0, -1],
    ];
    expect(reported(printed)).toEqual(reported(printed.toReversed()));
  });
});
