import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { CellView } from "../../mac-pool/inspection/rest/views.ts";
import { count } from "../text.ts";
import { theme } from "../theme.ts";
import { cellAt, describeCell, type Grid, gridOf, type Paint, paintOf, strengthOf } from "./grid.ts";

interface Props {
  readonly cells: readonly CellView[];
  readonly width: number;
  readonly label: string;
  /** Enter or a click. */
  readonly onEnter: (index: number) => void;
  /** The wheel or a key: into the cell and its neighbours, out, whole, or to one side. */
  readonly onMove: (to: "in" | "out" | "whole" | "before" | "behind", index: number) => void;
}

/** As the swatches of the legend, whose colours are read off the page, so that both follow the theme. */
const PAINTS: readonly Paint[] = [
  "free",
  "bound",
  "pending",
  "quarantined",
  "explicit",
  "host",
  "station",
  "colliding",
];
const GAP = 1;
const WHEEL_PAUSE_MS = 250;

export function MapCanvas({ cells, width, label, onEnter, onMove }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chosen = useSignal(0);
  const isPointing = useSignal(false);
  const grid = gridOf(cells.length, width);
  const index = Math.min(chosen.value, cells.length - 1);
  const cell = cells[index];
  const scheme = useColorScheme();
  useLayoutEffect(() => {
    if (canvas.current !== null) draw(canvas.current, cells, grid, isPointing.value ? index : undefined);
  }, [cells, grid, index, isPointing.value, scheme.value, theme.value]);
  const latest = useRef({ grid, cells, onMove });
  latest.current = { grid, cells, onMove };
  useWheel(canvas, (x, y, isIn) => {
    const now = latest.current;
    const at = cellAt(now.grid, x, y, now.cells.length);
    if (at !== undefined) now.onMove(isIn ? "in" : "out", at);
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Record<string, number> = {
      ...{ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns },
    };
    const moves: Record<string, "in" | "out" | "whole" | "before" | "behind"> = {
      ...{ "+": "in", "=": "in", "-": "out", Backspace: "out", "0": "whole", PageUp: "before", PageDown: "behind" },
    };
    const [step, move] = [steps[event.key], moves[event.key]];
    if (step !== undefined) chosen.value = Math.max(0, Math.min(cells.length - 1, index + step));
    else if (move !== undefined) onMove(move, index);
    else if (event.key === "Enter") onEnter(index);
    else if (event.key === "Home") chosen.value = 0;
    else if (event.key === "End") chosen.value = cells.length - 1;
    else return;
    event.preventDefault();
  };
  const indexOf = ({ offsetX, offsetY }: MouseEvent): number | undefined =>
    cellAt(grid, offsetX, offsetY, cells.length);
  return (
    <>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a canvas has no role of its own */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="address map"
        aria-label={label}
        aria-describedby="map-keys"
        onFocus={() => {
          isPointing.value = true;
        }}
        onBlur={() => {
          isPointing.value = false;
        }}
        onMouseLeave={({ currentTarget }) => {
          isPointing.value = document.activeElement === currentTarget;
        }}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const at = indexOf(event);
          if (at !== undefined) onEnter(at);
        }}
        onMouseMove={(event) => {
          chosen.value = indexOf(event) ?? chosen.value;
          isPointing.value = true;
        }}
      />
      <p class="cell" role="status">
        {cell !== undefined && isPointing.value && (
          <>
            <span class="mac">{cell.size === 1 ? cell.first : `${cell.first} – ${cell.last}`}</span>{" "}
            {describeCell(cell, count)}
          </>
        )}
      </p>
    </>
  );
}

/** One step for each turn of the wheel: a touchpad sends dozens of events for one gesture. */
function useWheel(
  canvas: { readonly current: HTMLCanvasElement | null },
  onTurn: (x: number, y: number, isIn: boolean) => void,
): void {
  const turn = useRef(onTurn);
  turn.current = onTurn;
  useEffect(() => {
    const element = canvas.current;
    let lastMs = Number.NEGATIVE_INFINITY;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      if (event.timeStamp - lastMs < WHEEL_PAUSE_MS || event.deltaY === 0) return;
      lastMs = event.timeStamp;
      turn.current(event.offsetX, event.offsetY, event.deltaY < 0);
    };
    // Not by an attribute: such listeners may not keep the page from scrolling.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [canvas]);
}

function useColorScheme(): { readonly value: boolean } {
  const isDark = useSignal(matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const changed = (): void => {
      isDark.value = query.matches;
    };
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [isDark]);
  return useComputed(() => isDark.value);
}

function draw(canvas: HTMLCanvasElement, cells: readonly CellView[], grid: Grid, chosen: number | undefined): void {
  const { columns, rows, pitch } = grid;
  const scale = devicePixelRatio;
  canvas.style.width = `${columns * pitch}px`;
  canvas.style.height = `${rows * pitch}px`;
  canvas.width = Math.round(columns * pitch * scale);
  canvas.height = Math.round(rows * pitch * scale);
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(scale, scale);
  const colours = new Map(PAINTS.map((paint) => [paint, colourOf(paint)]));
  for (const [index, cell] of cells.entries()) {
    const [x, y] = [(index % columns) * pitch, Math.floor(index / columns) * pitch];
    const paint = paintOf(cell);
    context.globalAlpha = 1;
    context.fillStyle = colours.get("free") ?? "";
    context.fillRect(x, y, pitch - GAP, pitch - GAP);
    if (paint === "free") continue;
    context.globalAlpha = strengthOf(cell);
    context.fillStyle = colours.get(paint) ?? "";
    context.fillRect(x, y, pitch - GAP, pitch - GAP);
  }
  if (chosen === undefined) return;
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.strokeStyle = getComputedStyle(canvas).color;
  const [x, y] = [(chosen % columns) * pitch, Math.floor(chosen / columns) * pitch];
  context.strokeRect(x + 1, y + 1, pitch - GAP - 2, pitch - GAP - 2);
}

function colourOf(paint: Paint): string {
  const swatch = document.querySelector(`.legend .swatch.${paint}`);
  return swatch === null ? "" : getComputedStyle(swatch).backgroundColor;
}
