/**
 * How much of what repeats itself a test tries: all of it where RANDOM_CASES=all, as .ci/run sets, and a fifth elsewhere.
 */
const TRIES_ALL = process.env.RANDOM_CASES === "all";
/** From one case that is tried to the next. */
export const STEP = TRIES_ALL ? 1 : 5;

/** Of so many random cases. */
export const share = (all: number): number => Math.ceil(all / STEP);

/** Of a list: its first case, and each fifth after it. */
export const shareOf = <T>(all: readonly T[]): readonly T[] => all.filter((_, at) => at % STEP === 0);

/** For `describe.skipIf`: repeats on a large scale what other tests try, and is left to CI. */
export const LEFT_TO_CI = !TRIES_ALL;
