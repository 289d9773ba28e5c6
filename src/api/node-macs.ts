/**
 * NodeMACs: the addresses of one node's own interfaces, as its bridge-marker reports them. It has the name of the node and
 * is owned by it, so that it goes with the node. There is no status subresource: all of it is a report.
 */

import { z } from "zod";
import { canonicalMac } from "./canonical-mac.ts";
import { celRules } from "./cel.ts";
import type { ObjectMeta } from "./object-meta.ts";

/** Bounds what a node that is compromised can keep from the pool. */
export const MAX_NODE_MACS = 64;

/** Refusals show the name to users: no node may put control characters into them. */
export function shownInterface(name: string): string {
  return name.replace(/[^!-.0-~]/gu, "?");
}

/** IFNAMSIZ without the closing nul. */
const MAX_INTERFACE_NAME = 15;

const nodeMacSchema = z
  .object({
    mac: canonicalMac,
    interface: z
      .string()
      .min(1)
      .max(MAX_INTERFACE_NAME)
      .describe("Physical interface or bond that has the address. Characters that can't be shown are question marks.")
      .meta(
        celRules({
          rule: "self.matches('^[!-.0-~]*$')",
          message: "interface must consist of printable ASCII characters, without spaces and slashes",
        }),
      ),
  })
  .describe("An address and the interface that has it.");

export const nodeMacsSchema = z
  .object({
    addresses: z
      .array(nodeMacSchema)
      .max(MAX_NODE_MACS)
      .describe("Addresses of the node's physical interfaces and bonds, each once.")
      // A report replaces the one before. Of a list by keys, an apply of none would leave no list at all, which is invalid.
      .meta({ "x-kubernetes-list-type": "atomic" }),
  })
  .describe(
    "MAC addresses of one node's own interfaces, written by its bridge-marker. MAC pools give none of them out, and " +
      "hostAddressPolicy of a MACPool says what happens to an object that asks for one.",
  );

export type NodeMac = z.infer<typeof nodeMacSchema>;

export type NodeMACs = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly addresses: readonly NodeMac[];
};
