import { formatMac, type Mac } from "../../api/mac.ts";
import { DEFAULT_EXPLICIT_ADDRESSES, describeRanges, type ExplicitAddresses } from "../../api/mac-pool.ts";
import { formatRange } from "../../api/mac-range.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import { type MacField, quote, type Refusal } from "./refusals.ts";

/** An address by hand, and where it is asked for. */
interface ExplicitAddress {
  readonly mac: Mac;
  readonly namespace: string;
  /** Absent where no object asks. */
  readonly interface?: string;
  readonly field: MacField;
  /** A VM that waits for a live migration has no use for another address. */
  readonly receiver?: boolean | undefined;
  /** The pool that serves the namespace. */
  readonly pool: Pool | undefined;
}

const policyOf = ({ settings }: Pool): ExplicitAddresses => settings.explicitAddresses ?? DEFAULT_EXPLICIT_ADDRESSES;

function mayAskFor(mac: Mac, pool: Pool, index: Pick<PoolIndex, "isInRange">): boolean {
  const policy = policyOf(pool);
  return policy === "Anywhere" || (policy === "OwnPool" ? pool.has(mac) : !index.isInRange(mac));
}

/** Whether the address is another pool's, and the pool of a namespace keeps its objects from asking for it. */
export function isForbidden(mac: Mac, pool: Pool | undefined, index: Pick<PoolIndex, "isInRange">): boolean {
  return pool !== undefined && !mayAskFor(mac, pool, index) && !pool.has(mac) && index.isInRange(mac);
}

/**
 * Why `explicitAddresses` of its pool keeps a namespace from asking for an address. Ranges in force count: what is excluded from
 * them is in none. The text does not tell in whose range the address is, nor whether anybody has it.
 */
export function refusalOfExplicit(
  { mac, namespace, interface: name, field, receiver, pool }: ExplicitAddress,
  index: Pick<PoolIndex, "isInRange">,
): Refusal | undefined {
  if (pool === undefined || mayAskFor(mac, pool, index)) return undefined;
  const policy = policyOf(pool);
  const where =
    policy === "OwnPool"
      ? `outside the ranges of MACPool ${pool.name}, which serves`
      : `in the range of a MACPool, and MACPool ${pool.name} serves`;
  const choice = policy === "OwnPool" ? `a free one of ${rangesOf(pool)}` : "one outside the ranges of all MACPools";
  const remedy =
    receiver === true
      ? "A live migration brings its address along: receive it in a namespace whose MACPool allows this address."
      : `Leave ${field} out to get an address from the pool, or choose ${choice}.`;
  return {
    code: "MACPOOL_EXPLICIT_ADDRESS",
    about: { mac, ...(name === undefined ? {} : { interface: name }) },
    message:
      `MAC ${formatMac(mac)}${name === undefined ? "" : ` of interface ${quote(name)}`} is ${where} namespace ${namespace} ` +
      `with explicitAddresses ${policy}. ${remedy}`,
  };
}

const rangesOf = ({ settings }: Pool): string => describeRanges(settings.segments.spans.map(formatRange));
