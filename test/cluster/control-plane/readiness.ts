/** Waiting for a condition with a deadline, and asking the API server whether it is ready. */
import { request } from "node:https";
import type { KeyPair } from "./authority.ts";

const PAUSE_MS = 25;

/** Asks until `check` says true. Rejects when `failed` does, or after `deadlineMs` with `what` in the message. */
export async function waitUntil(
  what: string,
  check: () => Promise<boolean>,
  deadlineMs: number,
  failed: Promise<never>,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  let over = false;
  const poll = async (): Promise<void> => {
    while (!over && !(await check())) {
      if (Date.now() > end) throw new Error(`${what}: not within ${deadlineMs / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  try {
    await Promise.race([poll(), failed]);
  } finally {
    over = true;
  }
}

/** GET with a client certificate; undefined when nobody answers. */
export function httpsGet(
  url: string,
  caCertificate: string,
  credentials: KeyPair,
): Promise<{ status: number; body: string } | undefined> {
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      { ca: caCertificate, cert: credentials.cert, key: credentials.key, agent: false },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          body += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        response.on("error", () => resolve(undefined));
      },
    );
    outgoing.on("error", () => resolve(undefined));
    outgoing.end();
  });
}
