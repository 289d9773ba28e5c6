import type { TestInterface } from "./machines.ts";

/** Interfaces that a VM may have before and after a request. */

export const MAC = { macAddress: "02:00:00:00:00:01" };

export const INTERFACES: readonly (readonly TestInterface[])[] = [
  [],
  [{ name: "a" }],
  [{ name: "a", ...MAC }],
  [{ name: "a", macAddress: "02:00:00:00:00:02" }],
  [{ name: "a", macAddress: "02-00-00-00-00-01" }],
  [{ name: "a", macAddress: "020000000001" }],
  [{ name: "a", state: "absent" }],
  [{ name: "a", on: "pod" }],
  [{ name: "a", on: "pod", ...MAC }],
  [{ name: "a", on: "pod-bridge" }],
  [{ name: "a", on: "pod-bridge", ...MAC }],
  [{ name: "a", ...MAC }, { name: "b" }],
  [{ name: "a", ...MAC, state: "absent" }, { name: "b" }],
  [
    { name: "b", on: "pod-bridge" },
    { name: "a", ...MAC },
  ],
  [
    { name: "b", on: "pod-bridge", ...MAC },
    { name: "a", ...MAC },
  ],
  [
    { name: "a", ...MAC },
    { name: "a", ...MAC },
  ],
  [{ name: "a", ...MAC, network: "br2-net" }],
  [{ name: "a", on: "claim" }],
  [{ name: "a", on: "claim", ...MAC }],
];
