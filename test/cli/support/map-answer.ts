/** An address map in which every kind of cell occurs. */
import { mapViewSchema } from "../../../src/mac-pool/inspection/rest/views.ts";

/** Half of the range free, the rest in every state. */
export function mapOf(cells: number, size: number) {
  return mapViewSchema.parse({
    pool: "default",
    from: address(0),
    to: address(cells * size - 1),
    cells: Array.from({ length: cells }, (_, index) => {
      const counts = countsOf(index, size);
      return { first: address(index * size), last: address((index + 1) * size - 1), size, ...counts };
    }),
    outOfRange: 1,
  });
}

function address(number: number): string {
  const hex = (0x025d1c000000 + number).toString(16).padStart(12, "0");
  return hex.match(/../g)?.join(":") ?? "";
}

function countsOf(index: number, size: number) {
  const none = { pending: 0, bound: 0, quarantined: 0, hostAddresses: 0, explicit: 0, colliding: 0 };
  const used = Math.min(size, Math.ceil((size * (index % 5)) / 4));
  const kinds = [
    { bound: used },
    { bound: used, explicit: used },
    { pending: used },
    { quarantined: used },
    { hostAddresses: used },
    { bound: used, colliding: used > 0 ? 1 : 0 },
  ];
  if (index % 2 === 0) return { ...none, free: size };
  return { ...none, free: size - used, ...kinds[Math.floor(index / 5) % kinds.length] };
}
