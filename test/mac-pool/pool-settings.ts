import type { Mac } from "../../src/api/mac.ts";
import type { PoolSettings } from "../../src/mac-pool/pools/pool.ts";
import { Segments } from "../../src/mac-pool/pools/segments.ts";

/** The settings of a pool `default` with so many addresses from `start` on; `more` says what else is not as here. */
export function poolSettings(start: number, size: number, more: Partial<PoolSettings> = {}): PoolSettings {
  return {
    name: "default",
    segments: new Segments([{ start: start as Mac, end: (start + size - 1) as Mac }]),
    namespaceSelector: undefined,
    conflictPolicy: "Deny",
    quarantineMs: 60_000,
    pendingMs: 120_000,
    createdAtMs: 0,
    ...more,
  };
}
