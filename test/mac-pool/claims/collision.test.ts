import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import {
  alarmingObjects,
  collisionMessage,
  countObjects,
  meetingObjects,
  type RunningObject,
} from "../../../src/mac-pool/claims/collision.ts";

const MAC = 0x02_00_00_00_00_aa as Mac;

const ref = (name: string, ...migrations: string[]): RunningObject => ({
  kind: "VirtualMachineInstance",
  namespace: "default",
  name,
  uid: `uid-${name}`,
  migrations,
  isManaged: true,
});

describe("objects of a collision", () => {
  it("are all objects that run with the address", () => {
    expect(countObjects([])).toBe(0);
    expect(countObjects([ref("a")])).toBe(1);
    expect(countObjects([ref("a"), ref("b"), { ...ref("a"), kind: "Pod" }])).toBe(3);
  });

  it("are one where a live migration connects them, in whatever order they come", () => {
    expect(countObjects([ref("source", "m1"), ref("target", "m1")])).toBe(1);
    expect(countObjects([ref("source", "m1"), ref("target", "m2")])).toBe(2);
    expect(countObjects([ref("a", "m1"), ref("b", "m2"), ref("c", "m1", "m2")])).toBe(1);
    expect(countObjects([ref("source", "m1"), ref("target", "m1"), ref("stranger")])).toBe(2);
  });

  it("are those that can meet another", () => {
    const [a, b, c] = [ref("a"), ref("b"), ref("c")];
    const [ten, twenty] = [["bridge br1 vlan 10"], ["bridge br1 vlan 20"]];
    expect(meetingObjects([a, b], [ten, twenty])).toEqual([]);
    expect(meetingObjects([a, b, c], [ten, twenty, ten])).toEqual([a, c]);
    expect(meetingObjects([a, b, c], [ten, twenty, undefined])).toEqual([a, b, c]);
    expect(meetingObjects([a], [undefined])).toEqual([]);
  });

  it("are no alarm about an object of another namespace by what a pod says of itself", () => {
    const vm = ref("web");
    const says = (namespace: string, name: string, isManaged = true): RunningObject => ({
      ...ref(name),
      kind: "Pod",
      namespace,
      isManaged,
      saidBy: "network-status",
    });
    const alarms = (...refs: RunningObject[]): string[][] =>
      alarmingObjects(refs)
        .filter((each) => each.length > 1)
        .map((each) => each.map(({ name }) => name));
    expect(alarms(vm, says("lab", "a"))).toEqual([]);
    expect(alarms(vm, says("lab", "a"), says("lab", "b"))).toEqual([["a", "b"]]);
    expect(alarms(vm, says("lab", "a", false), says("lab", "b", false))).toEqual([]);
    expect(alarms(vm, says("default", "a"))).toEqual([["web", "a"]]);
    expect(alarms(vm, ref("twin"), says("lab", "a"))[0]).toEqual(["web", "twin"]);
  });

  it("are all named, sorted, with what to do", () => {
    expect(collisionMessage(MAC, [ref("b"), ref("a")], "default")).toBe(
      "MAC 02:00:00:00:00:aa: Collision between vmi/default/a, vmi/default/b. " +
        "Stop all but one of them, or change their addresses.",
    );
  });

  it("are named to their own namespace only", () => {
    const others = ["secret-a", "secret-b"].map((name) => ({ ...ref(name), namespace: "tenant" }));
    expect(collisionMessage(MAC, [...others, ref("b"), ref("a")], "default")).toMatch(
      /between vmi\/default\/a, vmi\/default\/b, an object in another namespace\. Stop/,
    );
    expect(collisionMessage(MAC, [...others, ref("b")], "tenant")).toMatch(
      /between vmi\/tenant\/secret-a, vmi\/tenant\/secret-b, an object in another namespace\. Stop/,
    );
  });
});
