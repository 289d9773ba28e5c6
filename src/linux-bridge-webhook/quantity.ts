/** Whole numbers as Kubernetes quantities. An extended resource allows no others. */

const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** "3" is 3, "1k" is 1000; undefined for anything that is not a whole number below 2^53. */
export function parseWholeQuantity(quantity: unknown): number | undefined {
  const match = /^\+?(\d+)([a-zA-Z]*)$/.exec(String(quantity));
  const factor = match === null ? undefined : FACTORS[match[2] ?? ""];
  if (match === null || factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return Number.isSafeInteger(value) ? value : undefined;
}
