/**
 * `npm run sim -- [--seed N] [--steps N] [--replicas N]`: the MAC pool's production code in a simulated cluster. It
 * ends with one JSON line. When an invariant is violated, it ends with a shortened history and exit code 1.
 * `--mutation NAME` removes a guard first; then a violation is expected. `--digest` adds a number that is equal for equal
 * histories.
 */
import { randomInt } from "node:crypto";
import { flagsOrExit } from "../../cni-plugins/build/flags.ts";
import { runCampaign, shrink } from "./campaign.ts";
import { MUTATIONS, type Mutation } from "./mutations.ts";
import type { Seams } from "./sim-replica.ts";

const MAX_SEED = 2 ** 47;
const PROGRESS_MS = 10_000;
const SHRINK_MS = 60_000;
const MAX_SHOWN_LINES = 200;

const values = flagsOrExit({
  seed: { type: "string" },
  steps: { type: "string", default: "1000000" },
  replicas: { type: "string", default: "3" },
  mutation: { type: "string" },
  digest: { type: "boolean", default: false },
});

function whole(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`--${name} has to be a whole number, not "${text}"`);
  process.exit(2);
}

const seed = values.seed === undefined ? randomInt(MAX_SEED) : whole("seed", values.seed);
const replicas = Math.max(1, whole("replicas", values.replicas));
const { mutation } = values;
if (mutation !== undefined && !Object.hasOwn(MUTATIONS, mutation)) {
  console.error(`there is no mutation "${mutation}": one of ${Object.keys(MUTATIONS).join(", ")}`);
  process.exit(2);
}
const seams: Seams = mutation === undefined ? {} : MUTATIONS[mutation as Mutation];

const startMs = performance.now();
let toldMs = startMs;
const result = await runCampaign({
  seed,
  steps: whole("steps", values.steps),
  replicas,
  seams,
  onProgress: (steps) => {
    if (performance.now() - toldMs < PROGRESS_MS) return;
    toldMs = performance.now();
    console.error(`seed ${seed}: ${steps} steps, ${Math.round(steps / ((toldMs - startMs) / 1000))} a second`);
  },
});
const { steps, allocations, faults, digest, failed } = result;
if (failed === undefined) {
  console.log(JSON.stringify({ seed, steps, allocations, faults, ...(values.digest && { digest }) }));
} else {
  console.log(`seed ${seed}, episode ${failed.episode}, after ${steps} steps: ${failed.violation.message}`);
  const short = await shrink({ seed, episode: failed.episode, replicas, seams }, SHRINK_MS);
  console.log(`${short.operations} operations are enough for it:`);
  console.log(short.history.slice(-MAX_SHOWN_LINES).join("\n"));
  process.exitCode = 1;
}
