import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../text.ts";
import { visibleRows } from "../visible-rows.ts";

/** Rows before and behind the visible ones, so that scrolling shows no gap. */
const MARGIN_ROWS = 12;
/** Paper shows no more. */
const PRINTED_ROWS = 2_000;

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** On a narrow screen, `wide` is left out, `below` is the second line of the row, and `wide place` is on the third. */
  readonly look?: "wide" | "below" | "wide place";
}

interface Props<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly isChosen: (row: T) => boolean;
  /** Of all rows there are; `rows` has those that were read. */
  readonly total: number;
  /** The reader comes near the end of `rows`. */
  readonly onNearEnd: () => void;
}

/** A table that draws the rows in sight only. Arrow keys move between the links of its first column. */
export function VirtualTable<T>({ label, columns, rows, keyOf, isChosen, total, onNearEnd }: Props<T>) {
  const frame = useRef<HTMLElement>(null);
  const scrollTop = useSignal(0);
  const height = useSignal(600);
  const rowPx = useSignal(28);
  const isPrinting = useSignal(false);
  const wanted = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight;
      rowPx.value = Number(getComputedStyle(element).getPropertyValue("--row-px"));
    });
    observer.observe(element);
    const before = (): void => {
      isPrinting.value = true;
    };
    const after = (): void => {
      isPrinting.value = false;
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      observer.disconnect();
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, [height, rowPx, isPrinting]);
  const printed = Math.min(rows.length, PRINTED_ROWS);
  const { first, end } = isPrinting.value
    ? { first: 0, end: printed }
    : visibleRows({
        scrollTop: scrollTop.value,
        height: height.value,
        rowPx: rowPx.value,
        rows: rows.length,
        margin: MARGIN_ROWS,
      });
  useEffect(() => {
    if (end >= rows.length && rows.length < total) onNearEnd();
    const row = wanted.current;
    if (row === undefined) return;
    const link = frame.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${row + 2}"] a`);
    if (link) {
      wanted.current = undefined;
      link.focus({ preventScroll: true });
    }
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    const row = (event.target as Element).closest("tr")?.getAttribute("aria-rowindex");
    if (step === undefined || !row || frame.current === null) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, Number(row) - 2 + step));
    wanted.current = next;
    const top = next * rowPx.value;
    const visible = frame.current.clientHeight - 2 * rowPx.value;
    if (top < frame.current.scrollTop) frame.current.scrollTop = top;
    if (top > frame.current.scrollTop + visible) frame.current.scrollTop = top - visible;
    scrollTop.value = frame.current.scrollTop + 0.001;
  };
  return (
    <section
      ref={frame}
      class="scroll virtual"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse could not scroll it otherwise (WCAG 2.1.1)
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget }) => {
        scrollTop.value = currentTarget.scrollTop;
      }}
    >
      <table aria-rowcount={total + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(({ title, look }) => (
              <th scope="col" key={title} class={look}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap px={first * rowPx.value} />
          {rows.slice(first, end).map((row, index) => (
            <tr key={keyOf(row)} aria-rowindex={first + index + 2} class={isChosen(row) ? "chosen" : undefined}>
              {columns.map(({ title, look, cell }) => (
                <td key={title} class={look}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <Gap px={(rows.length - end) * rowPx.value} />
        </tbody>
      </table>
      {printed < total && (
        <p class="printed">
          {count(printed)} of {count(total)} rows. Save as CSV for all of them.
        </p>
      )}
    </section>
  );
}

/** In the place of rows that are not drawn. */
function Gap({ px }: { readonly px: number }) {
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus, and this one says nothing
  return <tr aria-hidden="true" class="gap" style={{ height: `${px}px` }} />;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 };
