import * as z from "zod";
import { celRules } from "./cel.ts";

/** A field `mac` with an address in its one canonical form. */
export const canonicalMac = z
  .string()
  .max(17)
  .meta({
    description: "The address: six lower-case octets, joined by colons.",
    ...celRules({
      rule: "self.matches('^([0-9a-f]{2}:){5}[0-9a-f]{2}$')",
      message: "mac must be six lower-case octets joined by colons",
    }),
  });
