import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

/**
 * Two projects: `unit` needs npm only; `real` uses the kernel, the built executables and real control planes. They run
 * together, real ones first: unit tests are short and fill what remains at the end.
 */
const real = [
  "test/netns/**/*.test.ts",
  "test/guest-kernel/**/*.test.ts",
  "test/e2e/**/*.test.ts",
  "test/cluster/**/*.test.ts",
  "test/**/*.real.test.ts",
];

/** Real tests wait for much: with one more than the cores that they are made for, none is idle meanwhile. */
const maxWorkers = 3;

/** What hangs is found as well after a minute; what is merely slow on a busy machine has not failed. */
const UNIT_TIMEOUT_MS = 60_000;
const POLL_TIMEOUT_MS = 30_000;

const expect = { poll: { timeout: POLL_TIMEOUT_MS } };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: real,
          maxWorkers,
          testTimeout: UNIT_TIMEOUT_MS,
          expect,
        },
      },
      {
        test: {
          name: "real",
          include: real,
          maxWorkers,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect,
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
    ],
  },
});
