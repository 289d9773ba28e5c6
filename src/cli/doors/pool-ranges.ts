import { type Mac, parseMac } from "../../api/mac.ts";
import type { PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { Segments } from "../../mac-pool/pools/segments.ts";

/** The pool that has the address in a range. */
export function poolWith(pools: readonly PoolView[], mac: Mac): PoolView | undefined {
  return pools.find(({ ranges }) =>
    ranges.some(({ first, last }) => {
      const [start, end] = [parseMac(first), parseMac(last)];
      return start !== undefined && end !== undefined && new Segments([{ start, end }]).has(mac);
    }),
  );
}
