import { type Mac, parseMac } from "../../api/mac.ts";
import { rangeContains } from "../../api/mac-range.ts";
import type { PoolView } from "../../mac-pool/inspection/views.ts";

/** The pool that has the address in a range. */
export function poolWith(pools: readonly PoolView[], mac: Mac): PoolView | undefined {
  return pools.find(({ ranges }) =>
    ranges.some(({ first, last }) => {
      const [start, end] = [parseMac(first), parseMac(last)];
      return start !== undefined && end !== undefined && rangeContains({ start, end }, mac);
    }),
  );
}
