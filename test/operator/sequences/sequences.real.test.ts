import { afterAll, beforeAll, describe, it } from "vitest";
import { OperatorHarness } from "../support/operator-harness.ts";
import { runSequence } from "./sequence.ts";

const { OPERATOR_SEQUENCES } = process.env;
const COUNT = Number(OPERATOR_SEQUENCES ?? 20);
/** The same histories each time. `npm run sequences` draws others. */
const FIRST = Number(process.env.OPERATOR_SEED ?? 7_000);
const SEEDS = Array.from({ length: COUNT }, (_, index) => FIRST + index);

describe("an operator in a random history of switches, faults and edits by others", () => {
  let harness: OperatorHarness;

  beforeAll(async () => {
    harness = await OperatorHarness.start();
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  it.each(SEEDS)("ends in what is asked for, and says so: seed %i", { timeout: 300_000 }, async (seed) => {
    await runSequence({ harness, seed });
  });
});
