/** Panels of a Grafana dashboard, three in a line under the title of their row. Pure. */

export const HIGHEST_QUANTILE = 0.99;

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly kind: "timeseries" | "stat" | "bargauge";
  /** Unit as Grafana names it. */
  readonly unit: "short" | "s" | "percentunit";
  /** From where on it is yellow, and red. */
  readonly warnFrom?: readonly [number, number];
  /** PromQL, and the text of its legend. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Columns of Grafana's grid. */
const GRID = 24;
const IN_LINE = 3;
const HEIGHT = 8;
const DATASOURCE = { type: "prometheus", uid: "$datasource" };

export function panelsOf(rows: readonly Row[]): object[] {
  const drawn: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    drawn.push({
      id: drawn.length + 1,
      type: "row",
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: GRID, h: 1 },
      panels: [],
    });
    y += 1;
    for (const [index, panel] of panels.entries()) {
      const w = GRID / IN_LINE;
      const gridPos = { x: (index % IN_LINE) * w, y: y + Math.floor(index / IN_LINE) * HEIGHT, w, h: HEIGHT };
      drawn.push({ id: drawn.length + 1, gridPos, ...drawnPanel(panel) });
    }
    y += Math.ceil(panels.length / IN_LINE) * HEIGHT;
  }
  return drawn;
}

function drawnPanel({ title, about, kind, unit, warnFrom, queries }: Panel): object {
  const steps = [
    { color: "green", value: null },
    ...(warnFrom === undefined
      ? []
      : [
          { color: "yellow", value: warnFrom[0] },
          { color: "red", value: warnFrom[1] },
        ]),
  ];
  const range = unit === "percentunit" ? { min: 0, max: 1 } : { min: 0 };
  return {
    type: kind,
    title,
    description: about,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, ...range, thresholds: { mode: "absolute", steps } }, overrides: [] },
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
    })),
  };
}
