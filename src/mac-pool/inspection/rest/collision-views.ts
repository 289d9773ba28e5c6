/** What inspection says of objects that run with one address. The command line and the page get the types from `views.ts`. */

import * as z from "zod";
import { OWNER_KINDS } from "../../../api/mac-claim.ts";
import { stationViewSchema } from "./place-view.ts";

const collisionPartyViewSchema = z.object({
  kind: z.enum(OWNER_KINDS),
  namespace: z.string(),
  name: z.string(),
  interface: z.string().exactOptional(),
  network: z.string().exactOptional(),
  node: z.string().exactOptional(),
  since: z.iso.datetime().exactOptional(),
  saidBy: z
    .literal("network-status")
    .exactOptional()
    .describe("Only this annotation of the pod says that it has the address. Who may write the pod can write it."),
  asksForIt: z
    .literal(true)
    .exactOptional()
    .describe("With `saidBy`: the pod asks for the address in its annotation `k8s.v1.cni.cncf.io/networks` too."),
  isManaged: z
    .literal(false)
    .exactOptional()
    .describe("The pool does not manage it, as in a namespace that opted out; absent where it does."),
});
export type CollisionPartyView = z.infer<typeof collisionPartyViewSchema>;

export const listedBy = z
  .array(collisionPartyViewSchema.omit({ node: true, since: true, saidBy: true, asksForIt: true }))
  .exactOptional()
  .describe("Objects that only list the address, as far as the reader may see them: they keep it from nobody.");

/** Of an address, beside its owners. */
export const besideView = {
  sayingPods: z
    .array(collisionPartyViewSchema)
    .exactOptional()
    .describe("Pods of which only their annotations say that they have the address; lists leave it out."),
  unmanagedInstances: z
    .array(collisionPartyViewSchema)
    .exactOptional()
    .describe("VMIs that run with the address and that the pool does not manage, owners or not; lists leave it out."),
};

/** Of an object that does not run. */
export const usedNowSchema = z
  .object({
    parties: z
      .array(
        collisionPartyViewSchema.extend({
          notRunningYet: z
            .literal(true)
            .exactOptional()
            .describe("It exists, and its guest or containers do not run yet."),
        }),
      )
      .describe("Parties that the reader may see."),
    elsewhere: z.int().min(0).describe("Parties in other namespaces, which the reader may not see."),
    isSaid: z.literal(true).exactOptional().describe("All of them are pods that only say so."),
  })
  .describe("Others that run or start with the address, while this object does not run; absent for none.");
export type UsedNowView = z.infer<typeof usedNowSchema>;

export const collisionViewSchema = z
  .object({
    mac: z.string().describe("A MAC address: six lower-case octets joined by colons."),
    parties: z.array(collisionPartyViewSchema).describe("Parties that the reader may see."),
    stations: z.array(stationViewSchema).exactOptional().describe("Stations outside the cluster that use it too."),
    elsewhere: z.int().min(0).describe("Parties in other namespaces, which the reader may not see."),
    isSaid: z.literal(true).exactOptional().describe("It would be none without what pods say of themselves."),
    advice: z.string(),
  })
  .meta({ id: "Collision" });
export type CollisionView = z.infer<typeof collisionViewSchema>;
