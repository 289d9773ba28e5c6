/**
 * What the page shows is in the fragment of its address, `#/map/default?from=02:...&to=02:...`, so every view is a permalink.
 * The server never sees it, and works under any path.
 */

export const VIEWS = [
  "overview",
  "networks",
  "network",
  "addresses",
  "map",
  "problems",
  "collisions",
  "refusals",
  "consistency",
  "namespaces",
  "check",
  "address",
  "owner",
] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** What follows the view's name: an address, or kind, namespace and name of an owner. */
  readonly args: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const HOME: Route = { view: "overview", args: [], query: {} };

/** Anything that is not a route is the overview: an old bookmark never leads to an empty page. */
export function parseRoute(fragment: string): Route {
  const [path = "", search = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [name, ...args] = path.split("/").map(decoded);
  const view = VIEWS.find((one) => one === name);
  if (view === undefined) return HOME;
  return { view, args, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Inverse of parseRoute. Empty and absent values are left out of the query. */
export function linkTo(
  view: View,
  args: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value] as const] : []));
  const search = given.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(given))}`;
  return `#/${[view, ...args.map(encodeURIComponent)].join("/")}${search}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
