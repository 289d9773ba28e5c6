import { z } from "zod";

/** Where an object runs; without a node it does not. */
export const placeView = {
  node: z.string().exactOptional().describe("Node where it runs now; absent when it does not run."),
  pod: z.string().exactOptional().describe("Pod that runs it: the launcher of a VM, or the pod itself."),
  notRunningYet: z.boolean().exactOptional().describe("True while it is being started on that node."),
};

const time = z.iso.datetime();

/** Where a node sees a station outside the cluster. */
export const stationViewSchema = z.object({
  node: z.string(),
  bridge: z.string().describe("Bridge of the node that has learned the address."),
  uplink: z.string().describe("Uplink of the bridge where it was learned."),
  vlan: z.int().min(1).max(4094).exactOptional().describe("VLAN of its frames, where the bridge filters."),
  lastSeen: time.describe("When the node got a frame from there, as its last report says."),
  lastFlap: time.exactOptional().describe("When the address was found on both sides of the uplink again and again."),
});
export type StationView = z.infer<typeof stationViewSchema>;
