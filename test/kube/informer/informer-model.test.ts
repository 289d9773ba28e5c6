import fc from "fast-check";
import { expect, test } from "vitest";
import { share } from "../../support/share.ts";
import { type Action, ModelRun } from "../support/model-run.ts";

/** 120 steps each; KUBE_MODEL_RUNS sets the number; KUBE_MODEL_SEED repeats what failed. */
const RUNS = Number(process.env.KUBE_MODEL_RUNS ?? share(1_000));
const SEED = Number(process.env.KUBE_MODEL_SEED ?? Date.now() % 2 ** 31);
const ACTIONS = 120;
const MAX_QUIET_STEPS = 1_000;

const names = fc.constantFrom("a", "b", "c", "d", "e");
const actions: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("write" as const), name: names }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom("delete" as const, "recreate" as const), name: names }) },
  { weight: 8, arbitrary: fc.constant({ type: "proceed" as const }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Action>(
      { type: "bookmark" },
      { type: "end" },
      { type: "broken" },
      { type: "gone" },
      { type: "absent" },
      { type: "refused" },
    ),
  },
);

test("after any sequence of writes and faults the store equals the server and no handler was told a contradiction", () => {
  let steps = 0;
  fc.assert(
    fc.property(
      fc.record({ wholeList: fc.boolean() }),
      fc.array(actions, { minLength: ACTIONS, maxLength: ACTIONS }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (rules, sequence, chance) => {
        const run = new ModelRun(() => chance.next().value as number, rules);
        for (const action of sequence) {
          run.act(action);
          if (run.caughtUp) {
            run.check();
          }
          steps++;
        }
        for (let quiet = 0; run.proceed(); quiet++) {
          expect(quiet, "steps until it is quiet").toBeLessThan(MAX_QUIET_STEPS);
        }
        expect(run.caughtUp).toBe(true);
        run.check();
      },
    ),
    { numRuns: RUNS, seed: SEED },
  );
  console.log(`informer model: ${steps} steps, seed ${SEED}`);
  expect(steps).toBeGreaterThanOrEqual(RUNS * ACTIONS);
}, 600_000);
