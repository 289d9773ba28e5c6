/**
 * Child process of the inspection benchmark, which stands for other machines. Each message is an order: `watch` opens watches and
 * holds them until the next order, `flood` asks with random tokens at a rate for a time. It says when it is done.
 */
import { Agent, request } from "node:https";

export type ReadersOrder =
  | { readonly what: "watch"; readonly port: number; readonly token: string; readonly count: number }
  | { readonly what: "flood"; readonly port: number; readonly perSecond: number; readonly forMs: number }
  | { readonly what: "nothing" };

let agent = new Agent();

process.on("message", async (order: ReadersOrder) => {
  agent.destroy();
  agent = new Agent({ keepAlive: true, maxSockets: order.what === "watch" ? 1_000 : 64, rejectUnauthorized: false });
  if (order.what === "watch") await Promise.all(Array.from({ length: order.count }, () => watch(order)));
  const answers = order.what === "flood" ? await flood(order) : {};
  process.send?.(answers);
});
process.on("disconnect", () => process.exit(0));

/** Resolves with the first event. */
function watch({ port, token }: ReadersOrder & { readonly what: "watch" }): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path: "/api/v1/claims?watch=true", agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`a watch was answered ${answer.statusCode}`));
      answer.on("error", () => {});
      answer.on("data", () => resolve());
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** How many got which answer. */
async function flood(order: ReadersOrder & { readonly what: "flood" }): Promise<Record<string, number>> {
  const { port, perSecond, forMs } = order;
  const answers: Record<string, number> = {};
  const startMs = performance.now();
  let sent = 0;
  while (performance.now() - startMs < forMs) {
    const due = Math.floor(((performance.now() - startMs) * perSecond) / 1000);
    for (; sent < due; sent++) {
      const headers = { authorization: `Bearer ${sent}-${Math.random()}` };
      const asked = request({ host: "127.0.0.1", port, path: "/api/v1/claims", agent, headers }, (answer) => {
        answer.resume();
        answers[String(answer.statusCode)] = (answers[String(answer.statusCode)] ?? 0) + 1;
      });
      asked.on("error", () => {
        answers.failed = (answers.failed ?? 0) + 1;
      });
      asked.end();
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return answers;
}
