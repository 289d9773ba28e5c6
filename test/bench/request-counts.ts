/** What an API server was asked, by verb and resource, as its own metrics count it. */

/** `POST macclaims`, `PATCH macpools/status` -> how often. */
export type RequestCounts = ReadonlyMap<string, number>;

/** Leader election, watches and the status of a pool ask by time, whatever is created and deleted. */
const LEADER_ELECTION = "leases";
const WATCH = "WATCH";
const BY_TIME = "PATCH macpools/status";
/** Fewer for an object are the API server's own. */
const FEWEST_SHOWN = 0.005;

const LINE = /^apiserver_request_total\{(.*)\} (\S+)$/gm;

/** Those for resources, but for watches and leader election, from the text at `/metrics`. */
export function readRequestCounts(metrics: string): RequestCounts {
  const counts = new Map<string, number>();
  for (const [, labels = "", count] of metrics.matchAll(LINE)) {
    const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const [verb, resource] = [label("verb"), label("resource")];
    if (resource === "" || resource === LEADER_ELECTION || verb === WATCH) continue;
    const what = `${verb} ${[resource, label("subresource")].filter(Boolean).join("/")}`;
    counts.set(what, (counts.get(what) ?? 0) + Number(count));
  }
  return counts;
}

/** Between the two, for each of so many objects, without `own`: the request that the objects are created or deleted by. */
export function requestsOfEach(
  before: RequestCounts,
  after: RequestCounts,
  { objects, own }: { readonly objects: number; readonly own: string },
): RequestCounts {
  const each = [...after].map(([what, count]) => [what, (count - (before.get(what) ?? 0)) / objects] as const);
  const shown = each.filter(([what, count]) => count >= FEWEST_SHOWN && what !== own);
  return new Map(shown.sort(([, one], [, other]) => other - one));
}

/** Of those that an object causes. */
export const total = (counts: RequestCounts): number =>
  [...counts].reduce((sum, [what, count]) => (what === BY_TIME ? sum : sum + count), 0);

/** `2.00 POST macclaims, 0.50 GET pods`. */
export const requestsText = (counts: RequestCounts): string =>
  [...counts].map(([what, count]) => `${count.toFixed(2)} ${what}`).join(", ") || "no requests";
