import { request } from "node:https";
import type { KeyPair } from "../cluster/control-plane/authority.ts";
import type { PoolBed } from "./pool-bed.ts";

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
}

/** GET of a replica's inspection port, with the serving certificate verified. */
export function restGet(bed: PoolBed, replica: string, path: string, sender?: string | Sender): Promise<RestAnswer> {
  return getFrom(bed.inspectionUrl(replica), bed.controlPlane.authority.certificate, path, sender);
}

export function getFrom(url: string, ca: string, path: string, sender?: string | Sender): Promise<RestAnswer> {
  const { token, pair, headers } = typeof sender === "string" ? { token: sender } : (sender ?? {});
  const sent = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { ca, headers: sent, agent: false, ...pair });
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

/** The server-sent events of a watch, as they come. */
export class RestWatch implements Disposable {
  readonly events: { readonly id: string; readonly type: string; readonly object?: { readonly mac?: string } }[] = [];
  status = 0;
  readonly #stop: () => void;

  constructor(bed: PoolBed, replica: string, path: string, token: string, lastId?: string) {
    const headers = { authorization: `Bearer ${token}`, ...(lastId === undefined ? {} : { "last-event-id": lastId }) };
    const ca = bed.controlPlane.authority.certificate;
    const asked = request(`${bed.inspectionUrl(replica)}${path}`, { ca, headers, agent: false }, (answer) => {
      this.status = answer.statusCode ?? 0;
      let text = "";
      answer.setEncoding("utf8").on("error", () => {});
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
