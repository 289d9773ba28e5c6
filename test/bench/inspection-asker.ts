/**
 * Child process of the inspection benchmark: asks one question after the other and tells how long each took, in milliseconds,
 * until the last byte. It keeps nothing, so that what it measures is not its own collection of garbage.
 */
import { Agent, request } from "node:https";

export interface AskerOrder {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly calls: number;
}

const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

process.on("message", async (order: AskerOrder) => {
  const samples: number[] = [];
  for (let call = 0; call < order.calls; call++) samples.push(await timed(order));
  process.send?.(samples);
});
process.on("disconnect", () => process.exit(0));

function timed({ port, path, token }: AskerOrder): Promise<number> {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const asked = request({ host: "127.0.0.1", port, path, headers, agent }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${path}: ${answer.statusCode}`));
      answer.on("error", reject);
      answer.on("end", () => resolve(performance.now() - startMs)).resume();
    });
    asked.on("error", reject);
    asked.end();
  });
}
