/**
 * How many of the random cases a test tries: all of them where RANDOM_CASES=all, as .ci/run sets, and a fifth elsewhere.
 */
export const share = (all: number): number => (process.env.RANDOM_CASES === "all" ? all : Math.ceil(all / 5));
