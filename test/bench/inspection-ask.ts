import { request } from "node:https";

/** GET of an answer of inspection. Rejects where it is none. */
export function ask(port: number, path: string, token = "viewer"): Promise<{ readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const asked = request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        if (answer.statusCode === 200) resolve({ body });
        else reject(new Error(`${path}: ${answer.statusCode} ${body}`));
      });
    });
    asked.on("error", reject);
    asked.end();
  });
}
