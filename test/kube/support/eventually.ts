const DEADLINE_MS = 30_000;
const INTERVAL_MS = 5;

/** Waits until the condition holds (is neither false nor undefined) and gives its value; fails after a deadline. */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadlineMs = DEADLINE_MS,
): Promise<Exclude<T, false | undefined>> {
  const endMs = Date.now() + deadlineMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== undefined) {
      return value as Exclude<T, false | undefined>;
    }
    if (Date.now() > endMs) {
      throw new Error(`not within ${deadlineMs} ms: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
