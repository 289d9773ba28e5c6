import * as z from "zod";

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

const count = z.int().min(0);

/** Addresses without a claim that are not given out. */
export const keptBackView = {
  hostAddresses: count.exactOptional().describe("Without a claim, and not given out: nodes have or see them."),
  stationAddresses: count.exactOptional().describe("Of hostAddresses: those of stations outside the cluster."),
};

export const stationsOfRangeSchema = z
  .object({ count: z.int().min(1), mac: z.string(), node: z.string(), uplink: z.string() })
  .describe(
    "Stations outside the cluster that use addresses of the range, and one of them; absent where none is seen.",
  );
