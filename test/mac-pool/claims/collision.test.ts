import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import {
  collisionMessage,
  countParties,
  meetingParties,
  type RunningObject,
} from "../../../src/mac-pool/claims/collision.ts";

const party = (name: string, ...migrations: string[]): RunningObject => ({
  kind: "VirtualMachineInstance",
  namespace: "default",
  name,
  uid: `uid-${name}`,
  migrations,
});

describe("parties of a collision", () => {
  it("are all objects that run with the address", () => {
    expect(countParties([])).toBe(0);
    expect(countParties([party("a")])).toBe(1);
    expect(countParties([party("a"), party("b"), { ...party("a"), kind: "Pod" }])).toBe(3);
  });

  it("are one where a live migration connects them, in whatever order they come", () => {
    expect(countParties([party("source", "m1"), party("target", "m1")])).toBe(1);
    expect(countParties([party("source", "m1"), party("target", "m2")])).toBe(2);
    expect(countParties([party("a", "m1"), party("b", "m2"), party("c", "m1", "m2")])).toBe(1);
    expect(countParties([party("source", "m1"), party("target", "m1"), party("stranger")])).toBe(2);
  });

  it("are those that can meet another", () => {
    const [a, b, c] = [party("a"), party("b"), party("c")];
    const [ten, twenty] = [["bridge br1 vlan 10"], ["bridge br1 vlan 20"]];
    expect(meetingParties([a, b], [ten, twenty])).toEqual([]);
    expect(meetingParties([a, b, c], [ten, twenty, ten])).toEqual([a, c]);
    expect(meetingParties([a, b, c], [ten, twenty, undefined])).toEqual([a, b, c]);
    expect(meetingParties([a], [undefined])).toEqual([]);
  });

  it("are all named, sorted, with what to do", () => {
    const mac = parseMac("0200000000aa");
    if (mac === undefined) throw new Error("no address");
    expect(collisionMessage(mac, [party("b"), party("a")])).toBe(
      "MAC 02:00:00:00:00:aa: Collision between vmi/default/a, vmi/default/b. " +
        "Stop all but one of them, or change their addresses.",
    );
  });
});
