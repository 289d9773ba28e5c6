import { request } from "node:https";
import type { PoolBed } from "./pool-bed.ts";

export interface RestAnswer {
  readonly status: number;
  readonly contentType: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

/** GET of a replica's inspection port, with the serving certificate verified. */
export function restGet(bed: PoolBed, replica: string, path: string, token?: string): Promise<RestAnswer> {
  return getFrom(bed.inspectionUrl(replica), bed.controlPlane.authority.certificate, path, token);
}

export function getFrom(url: string, ca: string, path: string, token?: string): Promise<RestAnswer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { ca, headers, agent: false });
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
          body: contentType.includes("json") ? JSON.parse(text) : text,
        });
      });
    });
    asked.end();
  });
}
