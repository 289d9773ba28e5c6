/** Waiting in tests: for a condition, with a deadline, and with the last reason in the error. */

const PAUSE_MS = 50;
const DEADLINE_MS = 30_000;

/** Tries until `attempt` no longer throws, and resolves to what it returned. */
export async function eventually<T>(attempt: () => Promise<T>, deadlineMs: number = DEADLINE_MS): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
