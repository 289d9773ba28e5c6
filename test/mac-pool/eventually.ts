const POLL_MS = 25;
const DEADLINE_MS = 60_000;

/** Waits for a condition; what it throws ends the wait at once. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean> | boolean,
  deadlineMs: number = DEADLINE_MS,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
