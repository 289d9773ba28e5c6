/**
 * `npm run sequences -- [--count N] [--seed N] [--verbose]`: random histories of the operator on a real control plane, one
 * after another on one cluster. Sequence i has the seed N + i. Ends at the first one that fails, with its history. The last
 * line of stdout is JSON. Exits 0 when all end in what is asked for, 1 when one does not, 2 for a wrong argument.
 */
import { randomInt } from "node:crypto";
import { flagsOrExit } from "../../../cni-plugins/build/flags.ts";
import { createLogger } from "../../../src/kube/process/logger.ts";
import { OperatorHarness } from "../support/operator-harness.ts";
import { runSequence } from "./sequence.ts";

const values = flagsOrExit({
  count: { type: "string", default: "20" },
  seed: { type: "string" },
  verbose: { type: "boolean", default: false },
});

function whole(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`--${name} has to be a whole number, not "${text}"`);
  process.exit(2);
}

const count = whole("count", values.count);
const first = values.seed === undefined ? randomInt(2 ** 31) : whole("seed", values.seed);
console.error(`${count} sequences from seed ${first}`);
const startMs = performance.now();
const log = values.verbose ? { log: createLogger({ name: "operator", level: "info" }) } : {};
let passed = 0;
{
  await using harness = await OperatorHarness.start();
  try {
    for (; passed < count; passed++) {
      const seed = first + passed;
      const onStep = (line: string): void => console.error(`${seed}: ${line}`);
      const sequenceMs = performance.now();
      await runSequence({ harness, seed, ...log, ...(values.verbose ? { onStep } : {}) });
      console.error(`seed ${seed}: ${((performance.now() - sequenceMs) / 1000).toFixed(1)} s`);
    }
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}
const seconds = Math.round((performance.now() - startMs) / 1000);
console.log(JSON.stringify({ seed: first, passed, count, seconds }));
