import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { STATIONS } from "../../api/host-interfaces.ts";
import type { MapView as AddressMap, ListView, PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { FORBIDDEN } from "../client.ts";
import { cellsFor } from "../map/grid.ts";
import { MapCanvas } from "../map/map-canvas.tsx";
import { MapTable } from "../map/map-table.tsx";
import { beside, isSingle, type Window, zoomInto, zoomOut } from "../map/zoom.ts";
import { goTo, route } from "../navigation.ts";
import { Empty } from "../parts/empty.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { ScopeNotice } from "../parts/scope-notice.tsx";
import { linkTo } from "../route.ts";
import { count, counted } from "../text.ts";
import { useQuery } from "../use-query.ts";

export function MapView() {
  const pools = useQuery<ListView<PoolView>>("pools");
  if (pools.problem.value?.status === FORBIDDEN) return <ScopeNotice />;
  const items = pools.value.value?.items;
  const wanted = route.value.args[0];
  const pool = wanted === undefined ? items?.[0] : items?.find(({ name }) => name === wanted);
  return (
    <>
      <ProblemNotice problem={pools.problem} isStale={items !== undefined} />
      {items !== undefined && items.length > 1 && (
        <p class="choices">
          {items.map(({ name }) => (
            <a key={name} href={linkTo("map", [name])} aria-current={name === pool?.name ? "true" : undefined}>
              {name}
            </a>
          ))}
        </p>
      )}
      {items?.length === 0 && (
        <Empty title="There is no pool to draw.">
          <p>A map shows which addresses of a pool are free, in use, or in quarantine after their release.</p>
        </Empty>
      )}
      {items !== undefined && items.length > 0 && pool === undefined && (
        <p class="notice bad">There is no pool {wanted}. Choose one of those above.</p>
      )}
      {pool !== undefined && <PoolMap key={pool.name} pool={pool} />}
    </>
  );
}

function PoolMap({ pool }: { readonly pool: PoolView }) {
  const { from, to } = route.value.query;
  const frame = useRef<HTMLDivElement>(null);
  const width = useSignal(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.floor(entry?.contentRect.width ?? 0);
    });
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, [width]);
  const path = width.value === 0 ? undefined : `pools/${encodeURIComponent(pool.name)}/map`;
  const answer = useQuery<AddressMap>(path, { cells: cellsFor(width.value), from, to });
  // While a closer look is on its way, the one before stays, so that nothing jumps.
  const last = useRef<AddressMap | undefined>(undefined);
  last.current = answer.value.value ?? last.current;
  const map = last.current;
  const bounds = boundsOf(pool);
  const show = (part: Window | undefined): void => goTo(linkTo("map", [pool.name], { ...part }));
  const enter = (index: number): void => {
    const cell = map?.cells[index];
    if (map === undefined || cell === undefined) return;
    const isClaimed = cell.free === 0 && cell.hostAddresses !== 1;
    if (cell.size === 1 && isClaimed) goTo(linkTo("address", [cell.first]));
    else if (cell.size === 1) goTo(linkTo("check", [], { mac: cell.first, namespace: "default" }));
    else show(zoomInto(map.cells, index, "cell"));
  };
  const move = (where: "in" | "out" | "whole" | "before" | "behind", index: number): void => {
    if (map === undefined) return;
    if (where === "in" && !isSingle(map.cells)) show(zoomInto(map.cells, index, "around"));
    if (where === "out") show(zoomOut(map, bounds));
    if (where === "whole") show(undefined);
    const part = where === "before" ? beside(map, -1, bounds) : where === "behind" ? beside(map, 1, bounds) : undefined;
    if (part !== undefined) show(part);
  };
  const isWhole = from === undefined && to === undefined;
  return (
    <>
      <ProblemNotice problem={answer.problem} isStale={map !== undefined} />
      <div class="map-head">
        <p>
          <span class="mac">{map === undefined ? pool.name : `${map.from} – ${map.to}`}</span>{" "}
          <span class="quiet">{map !== undefined && sizeInWords(map)}</span>
        </p>
        <p class="buttons">
          <button type="button" disabled={isWhole} onClick={() => move("whole", 0)}>
            Whole pool
          </button>
          <button type="button" disabled={isWhole} onClick={() => move("out", 0)}>
            Zoom out
          </button>
          <button
            type="button"
            disabled={map === undefined || beside(map, -1, bounds) === undefined}
            onClick={() => move("before", 0)}
          >
            Previous
          </button>
          <button
            type="button"
            disabled={map === undefined || beside(map, 1, bounds) === undefined}
            onClick={() => move("behind", 0)}
          >
            Next
          </button>
        </p>
      </div>
      <Legend />
      <div ref={frame} class="map">
        {map !== undefined && (
          <MapCanvas
            cells={map.cells}
            width={width.value}
            label={`Addresses of pool ${pool.name} from ${map.from} to ${map.to}`}
            onEnter={enter}
            onMove={move}
          />
        )}
      </div>
      <p id="map-keys" class="quiet keys">
        Arrow keys choose a cell. <kbd>Enter</kbd> or a click opens it. <kbd>+</kbd>, <kbd>−</kbd> and the wheel zoom.{" "}
        <kbd>0</kbd> shows the whole pool. <kbd>Page Up</kbd> and <kbd>Page Down</kbd> go on.
      </p>
      {map !== undefined && map.outOfRange > 0 && (
        <p>
          The map does not show addresses outside the ranges:{" "}
          <a href={linkTo("addresses", [], { outOfRange: pool.name })}>
            {counted(map.outOfRange, "address", "addresses")}
          </a>
          .
        </p>
      )}
      {map !== undefined && <MapTable cells={map.cells} onEnter={enter} />}
    </>
  );
}

function sizeInWords({ cells }: AddressMap): string {
  const total = cells.reduce((sum, { size }) => sum + size, 0);
  const size = cells[0]?.size ?? 0;
  return `${counted(total, "address", "addresses")}, ${size === 1 ? "one a cell" : `${count(size)} a cell`}`;
}

/** From the first to the last address of all its ranges. */
function boundsOf({ ranges }: PoolView): Window {
  return { from: ranges[0]?.first ?? "", to: ranges.at(-1)?.last ?? "" };
}

const LEGEND = [
  ["free", "free"],
  ["bound", "bound"],
  ["pending", "pending"],
  ["quarantined", "quarantined"],
  ["explicit", "chosen by users"],
  ["host", "nodes' own"],
  ["station", STATIONS],
  ["colliding", "colliding"],
] as const;

function Legend() {
  return (
    <ul class="legend" aria-label="Colours">
      {LEGEND.map(([paint, text]) => (
        <li key={paint}>
          <span class={`swatch ${paint}`} /> {text}
        </li>
      ))}
      <li class="quiet">A stronger colour means fewer free addresses in the cell.</li>
    </ul>
  );
}
