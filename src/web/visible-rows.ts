export interface RowWindow {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowPx: number;
  readonly rows: number;
  /** Rows that are drawn before and behind those in sight. */
  readonly margin: number;
}

/** Which rows of equal height are to be drawn: from `first` to before `end`. */
export function visibleRows({ scrollTop, height, rowPx, rows, margin }: RowWindow): {
  readonly first: number;
  readonly end: number;
} {
  const top = Math.floor(scrollTop / rowPx);
  const end = Math.min(rows, Math.ceil((scrollTop + height) / rowPx) + margin);
  return { first: Math.max(0, Math.min(top - margin, end)), end: Math.max(0, end) };
}
