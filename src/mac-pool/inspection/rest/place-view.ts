import { z } from "zod";

/** Where an object runs; without a node it does not. */
export const placeView = {
  node: z.string().exactOptional().describe("Node where it runs now; absent when it does not run."),
  pod: z.string().exactOptional().describe("Pod that runs it: the launcher of a VM, or the pod itself."),
  notRunningYet: z.boolean().exactOptional().describe("True while it is being started on that node."),
};
