import type { ClaimView, ListView } from "../mac-pool/inspection/rest/views.ts";

/** The part of the claims that was read. */
export interface Claims {
  readonly rows: readonly ClaimView[];
  readonly total: number;
  /** Token of the next page. */
  readonly next: string | undefined;
}

/**
 * The newest answer to the first page put before what was read behind it. Claims come in the order of their addresses, so
 * every row beyond the last of the first page is still in its place.
 */
export function withFirstPage(old: Claims | undefined, page: ListView<ClaimView>): Claims {
  const last = page.items.at(-1)?.mac;
  if (page.continue === undefined || last === undefined || old === undefined) return followedBy([], page);
  const behind = old.rows.filter(({ mac }) => mac > last);
  return { rows: [...page.items, ...behind], total: page.total, next: behind.length > 0 ? old.next : page.continue };
}

/** Rows that were read, and the page behind them. */
export const followedBy = (before: readonly ClaimView[], page: ListView<ClaimView>): Claims => ({
  rows: [...before, ...page.items],
  total: page.total,
  next: page.continue,
});
