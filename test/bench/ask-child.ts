import type { ChildProcess, Serializable } from "node:child_process";
import { once } from "node:events";

/** Sends a message to a child process and resolves with the next one from it. Rejects when the process ends instead. */
export async function askChild<A>(child: ChildProcess, message: Serializable): Promise<A> {
  const settled = new AbortController();
  const { signal } = settled;
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`a process of the benchmark ended with exit code ${code}`);
  });
  const answer = once(child, "message", { signal });
  child.send(message);
  try {
    const [value] = (await Promise.race([answer, ended])) as [A];
    return value;
  } finally {
    settled.abort();
  }
}
