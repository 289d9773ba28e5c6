import type { Mac } from "../../api/mac.ts";
import type { PoolIndex } from "../pools/pool-index.ts";

interface Sources {
  readonly index: Pick<PoolIndex, "hosts">;
  readonly objectsListing: (mac: Mac) => readonly unknown[];
}

/** Addresses that a request is not given although no claim holds them: its object lists them, another does, or a node has them. */
export function excludedAddresses(listed: ReadonlySet<Mac>, { index, objectsListing }: Sources): (mac: Mac) => boolean {
  return (mac) => listed.has(mac) || index.hosts.has(mac) || objectsListing(mac).length > 0;
}
