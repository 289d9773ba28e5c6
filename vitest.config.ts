import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { cacheDirectory } from "./cni-plugins/build/built-plugins.ts";
import { compileCacheEnv } from "./test/cluster/compile-cache.ts";

/**
 * `unit` needs npm only; `real` uses the kernel, the built executables and real control planes; `nodes` is the part of the
 * tests on real nodes that `npm test` runs, `e2e` the rest, for `npm run test:e2e`. Real ones run first: unit tests are
 * short and fill what remains at the end.
 */
const nodes = ["test/e2e/**/*.test.ts"];
const e2e = ["test/e2e/**/*.e2e.test.ts"];
const real = [
  "test/netns/**/*.test.ts",
  "test/guest-kernel/**/*.test.ts",
  "test/cluster/**/*.test.ts",
  "test/**/*.real.test.ts",
];

/** Real tests wait for much: with one more than the cores that they are made for, none is idle meanwhile. */
const maxWorkers = 3;

/** What hangs is found as well after a minute; what is merely slow on a busy machine has not failed. */
const UNIT_TIMEOUT_MS = 60_000;
/** Waits in it have limits of their own, which grow on a busy machine (test/support/patience.ts). */
const REAL_TIMEOUT_MS = 300_000;
const POLL_TIMEOUT_MS = 30_000;
/** What real parts are asked costs them and the test processor time. */
const REAL_POLL_INTERVAL_MS = 100;

const expect = { poll: { timeout: POLL_TIMEOUT_MS } };
const realExpect = { poll: { timeout: POLL_TIMEOUT_MS, interval: REAL_POLL_INTERVAL_MS } };

/** Each file has a cluster of its own, which takes what two cores give. */
const realNodes = {
  maxWorkers: 1,
  testTimeout: REAL_TIMEOUT_MS,
  hookTimeout: REAL_TIMEOUT_MS,
  expect: realExpect,
  globalSetup: ["test/e2e/global-setup.ts"],
};

export default defineConfig({
  // What the last run of each file took, which is what vitest goes by: the longest first.
  cacheDir: join(cacheDirectory(process.env), "vitest"),
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [...real, ...nodes],
          maxWorkers,
          // Files share what they load: a test undoes what it changes of the process.
          isolate: false,
          env: compileCacheEnv(),
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
          expect,
        },
      },
      {
        test: {
          name: "real",
          include: real,
          maxWorkers,
          testTimeout: REAL_TIMEOUT_MS,
          hookTimeout: REAL_TIMEOUT_MS,
          expect: realExpect,
          globalSetup: ["test/support/global-setup.ts"],
          setupFiles: ["test/support/skip-lacking.ts"],
        },
      },
      { test: { ...realNodes, name: "nodes", include: nodes, exclude: e2e } },
      { test: { ...realNodes, name: "e2e", include: e2e } },
    ],
  },
});
