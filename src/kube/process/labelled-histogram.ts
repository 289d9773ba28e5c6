import type { Histogram, Registry } from "prom-client";

export interface LabelledHistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Its only label. */
  readonly label: string;
  /** Upper bounds, rising. */
  readonly buckets: readonly number[];
  readonly registers: readonly Registry[];
}

interface Series {
  /** By bucket, the last one being for what is above all bounds. */
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram for what is observed in each request: prom-client's own checks the labels and joins them to a key each time,
 * which takes longer than all other metrics of an admission.
 */
export class LabelledHistogram {
  readonly name: string;
  readonly #options: LabelledHistogramOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: LabelledHistogramOptions) {
    this.name = options.name;
    this.#options = options;
    // A registry asks a metric for its name and calls `get`.
    for (const registry of options.registers) registry.registerMetric(this as unknown as Histogram);
  }

  observe(labelValue: string, value: number): void {
    const { buckets } = this.#options;
    let series = this.#series.get(labelValue);
    if (series === undefined) {
      series = { counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 };
      this.#series.set(labelValue, series);
    }
    let bucket = 0;
    while (bucket < buckets.length && value > (buckets[bucket] ?? 0)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  /** The values as prom-client's registry prints them. */
  async get(): Promise<object> {
    const { name, help } = this.#options;
    const values = [...this.#series].flatMap(([labelValue, series]) => this.#valuesOf(labelValue, series));
    return { name, help, type: "histogram", aggregator: "sum", values };
  }

  #valuesOf(labelValue: string, { counts, sum }: Series): object[] {
    const { name, label, buckets } = this.#options;
    const labels = { [label]: labelValue };
    let count = 0;
    const cumulative = counts.map((inBucket, index) => {
      count += inBucket;
      return { metricName: `${name}_bucket`, labels: { le: buckets[index] ?? "+Inf", ...labels }, value: count };
    });
    return [
      ...cumulative,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
