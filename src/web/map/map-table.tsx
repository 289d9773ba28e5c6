import type { CellView } from "../../mac-pool/inspection/rest/views.ts";
import { count, counted } from "../text.ts";
import { describeCell } from "./grid.ts";

const SHOWN = 200;

interface Props {
  readonly cells: readonly CellView[];
  readonly onEnter: (index: number) => void;
}

/** The map for those who do not see it: its cells that are not simply free. */
export function MapTable({ cells, onEnter }: Props) {
  const taken = cells.flatMap((cell, index) => (cell.free < cell.size ? [{ cell, index }] : []));
  const shown = taken.slice(0, SHOWN);
  return (
    <details class="twin">
      <summary>The map as a table: {counted(taken.length, "cell")} in use or kept back</summary>
      {taken.length === 0 && <p>Every address that the map shows is free.</p>}
      {shown.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Addresses</th>
              <th scope="col">State</th>
              <th scope="col">
                <span class="unseen">Open</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ cell, index }) => (
              <tr key={cell.first}>
                <th scope="row" class="mac">
                  {cell.size === 1 ? cell.first : `${cell.first} – ${cell.last}`}
                </th>
                <td>{describeCell(cell, count)}</td>
                <td>
                  <button type="button" onClick={() => onEnter(index)}>
                    {cell.size === 1 ? "Open" : "Zoom in"}
                    <span class="unseen"> {cell.first}</span>
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {taken.length > SHOWN && <p class="quiet">{count(taken.length - SHOWN)} more cells: zoom in to see them.</p>}
    </details>
  );
}
