/** Waiting for a condition with a deadline, and asking the API server whether it is ready. */
import { request } from "node:https";
import type { KeyPair } from "./authority.ts";

const PAUSE_MS = 100;

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

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** One HTTPS request with a client certificate, JSON if it has a body; undefined when nobody answers. */
export function httpsRequest(
  method: string,
  url: string,
  tls: { readonly ca: string } & KeyPair,
  body?: object,
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const outgoing = request(url, { method, headers, ...tls, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      response.on("error", () => resolve(undefined));
    });
    outgoing.on("error", () => resolve(undefined));
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
