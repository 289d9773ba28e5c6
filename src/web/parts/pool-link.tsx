import { linkTo } from "../route.ts";
import { seesPools } from "../session.ts";

/** Leads to the map of the pool who may see it. */
export function PoolLink({ pool }: { readonly pool: string }) {
  return seesPools.value ? <a href={linkTo("map", [pool])}>{pool}</a> : <span>{pool}</span>;
}
