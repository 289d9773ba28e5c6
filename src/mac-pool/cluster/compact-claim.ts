import type { MACClaim } from "../../api/mac-claim.ts";
import type { SharedValues } from "./shared-values.ts";

const OF_OWNER = ["kind", "namespace", "name", "generateName", "uid", "interface", "network"];

/**
 * The same claim with less memory (68 instead of 95 MB for 100,000): the texts that it has in common with others become
 * the same ones. Changes the object, which has to be fresh, and leaves nothing out, since a claim is written back as a
 * whole.
 */
export function compactClaim(claim: MACClaim, shared: SharedValues): MACClaim {
  share(claim, ["apiVersion", "kind"], shared);
  share(claim.metadata, ["creationTimestamp"], shared);
  share(claim.spec, ["pool", "origin"], shared);
  if (claim.metadata.labels !== undefined) {
    (claim.metadata as { labels: Readonly<Record<string, string>> }).labels = shared.object(claim.metadata.labels);
  }
  if (claim.status !== undefined) {
    share(claim.status, ["phase", "owner"], shared);
    for (const owner of claim.status.owners) share(owner, OF_OWNER, shared);
  }
  return claim;
}

function share(object: object, fields: readonly string[], shared: SharedValues): void {
  const entries = object as Record<string, unknown>;
  for (const field of fields) {
    const value = entries[field];
    if (value !== undefined) entries[field] = shared.text(value);
  }
}
