import { defineConfig } from "vitest/config";

/**
 * Two projects: `unit` needs npm only and runs in parallel; `real` uses the kernel, the built executables and real
 * control planes, two files at a time, because the machine has to carry them.
 */
const real = [
  "test/netns/**/*.test.ts",
  "test/guest-kernel/**/*.test.ts",
  "test/e2e/**/*.test.ts",
  "test/cluster/**/*.test.ts",
  "test/**/*.real.test.ts",
];

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/**/*.test.ts"], exclude: real, testTimeout: 20_000 } },
      {
        test: {
          name: "real",
          include: real,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
    ],
  },
});
