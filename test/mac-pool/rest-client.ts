import * as http from "node:http";
import * as https from "node:https";
import type { KeyPair } from "../cluster/control-plane/authority.ts";
import type { PoolFixture } from "./pool-fixture.ts";

export interface RestAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

/** How somebody shows who he is, and what else he sends. */
export interface Sender {
  readonly token?: string;
  /** A client certificate. */
  readonly pair?: KeyPair;
  readonly headers?: Readonly<Record<string, string>>;
  /** GET unless given. */
  readonly method?: string;
}

/** GET of a replica's inspection port, with the serving certificate verified. */
export function restGet(
  fixture: PoolFixture,
  replica: string,
  path: string,
  sender?: string | Sender,
): Promise<RestAnswer> {
  return getFrom(fixture.inspectionUrl(replica), fixture.controlPlane.authority.certificate, path, sender);
}

/** `ca`: of a server with TLS. */
export function getFrom(
  url: string,
  ca: string | undefined,
  path: string,
  sender?: string | Sender,
): Promise<RestAnswer> {
  return new Promise((resolve, reject) => {
    const asked = requestTo(url, ca, path, sender);
    asked.on("error", reject);
    asked.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const contentType = response.headers["content-type"] ?? "";
        resolve({
          status: response.statusCode ?? 0,
          contentType,
          headers: response.headers,
          body: contentType.includes("json") ? JSON.parse(text) : text,
        });
      });
    });
    asked.end();
  });
}

function requestTo(
  url: string,
  ca: string | undefined,
  path: string,
  sender: string | Sender | undefined,
): http.ClientRequest {
  const { token, pair, headers, method = "GET" } = typeof sender === "string" ? { token: sender } : (sender ?? {});
  const sent = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers };
  const options = { method, headers: sent, agent: false as const };
  return ca === undefined
    ? http.request(`${url}${path}`, options)
    : https.request(`${url}${path}`, { ...options, ca, ...pair });
}

export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events freely
  readonly object?: any;
  readonly partial?: readonly string[];
}

/** The server-sent events of a watch, as they come. */
export class EventWatch implements Disposable {
  readonly events: ToldEvent[] = [];
  status = 0;
  hasEnded = false;
  readonly #stop: () => void;

  constructor(url: string, ca: string | undefined, path: string, sender: Sender) {
    const asked = requestTo(url, ca, path, sender);
    asked.on("response", (answer) => {
      this.status = answer.statusCode ?? 0;
      let text = "";
      answer.setEncoding("utf8").on("error", () => {});
      answer.on("close", () => {
        this.hasEnded = true;
      });
      answer.on("data", (chunk: string) => {
        text += chunk;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const [, id = "", data = ""] = /^id: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
          this.events.push({ id, ...JSON.parse(data) });
          text = text.slice(end + 2);
        }
      });
    });
    asked.on("error", () => {});
    asked.end();
    this.#stop = () => asked.destroy();
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}

/** A watch of a replica's inspection port. */
export class RestWatch extends EventWatch {
  constructor(fixture: PoolFixture, replica: string, path: string, token: string, lastId?: string) {
    const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
    super(fixture.inspectionUrl(replica), fixture.controlPlane.authority.certificate, path, { token, headers });
  }
}
