import { signal } from "@preact/signals";
import { linkTo, parseRoute, type View } from "./route.ts";

/** Where the reader is, from the fragment of the address. */
export const route = signal(parseRoute(location.hash));

let shown = location.hash;

function show(link: string): void {
  if (link === shown) return;
  shown = link;
  route.value = parseRoute(link);
}

export function startNavigation(): void {
  addEventListener("hashchange", () => show(location.hash));
}

/** The route is the new one at once. `replace`: without a step of the history, as while somebody types. */
export function goTo(link: string, how: "push" | "replace" = "push"): void {
  if (link === location.hash) return;
  if (how === "push") location.hash = link;
  else history.replaceState(null, "", link);
  show(link);
}

export const ownerLink = (owner: { kind: string; namespace: string; name?: string | undefined }): string =>
  linkTo("owner", [owner.kind, owner.namespace, owner.name ?? ""]);

/** Of one address, beside the list that it was opened from. */
export const addressLink = (mac: string): string => {
  const { view, query } = route.value;
  return linkTo("address", [mac], view === "addresses" || view === "address" ? query : {});
};

export const networkLink = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  linkTo("network", [namespace, name]);

/** Views that a tab leads to in two steps. */
const WITHIN: Partial<Record<View, View>> = {
  address: "addresses",
  network: "networks",
  collisions: "problems",
  refusals: "problems",
  consistency: "problems",
};

export const isAt = (view: View): boolean => (WITHIN[route.value.view] ?? route.value.view) === view;
