/**
 * The page that shows what /api/v1 answers. Its files are public; the data that it asks for is not. Documents and scripts
 * under relative addresses work at / and under every prefix of a proxy.
 */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import type { Log } from "../../../kube/log.ts";

interface PageFile {
  readonly type: string;
  /** Strong, of the content. */
  readonly etag: string;
  readonly content: Buffer;
  readonly gzipped: Buffer;
}

/** By name. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const DOCUMENT = "index.html";
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** No script or style but those files, nothing from elsewhere, no frame around it, and no text that becomes markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  // Kept, but asked for again each time: names do not change with the content.
  "cache-control": "no-cache",
  vary: "accept-encoding",
};

/** The files of a folder; none where the page was not built, because the pool works without it. */
export async function readPage(folder: string, log: Log): Promise<PageFiles> {
  const all = await readdir(folder).catch((error: unknown) => {
    log.warn({ err: error }, "the inspection page is not there and is not served: npm run build:page builds it");
    return [];
  });
  const names = all.filter((name) => path.extname(name) in TYPES);
  const files = names.map(async (name) => {
    const content = await readFile(path.join(folder, name));
    const etag = `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
    return [name, { type: TYPES[path.extname(name)] ?? "", etag, content, gzipped: gzipSync(content) }] as const;
  });
  return new Map(await Promise.all(files));
}

export function routePage(app: FastifyInstance, files: PageFiles): void {
  for (const [name, { type, etag, content, gzipped }] of files) {
    app.get(name === DOCUMENT ? "/" : `/${name}`, async ({ headers }, reply) => {
      const zips = acceptsGzip(headers["accept-encoding"]);
      // Other bytes have another tag.
      const tag = zips ? `${etag.slice(0, -1)}-gzip"` : etag;
      reply.headers({ ...HEADERS, etag: tag });
      if (headers["if-none-match"]?.split(",").some((one) => one.trim() === tag)) return reply.code(304).send();
      if (zips) reply.header("content-encoding", "gzip");
      return reply.type(type).send(zips ? gzipped : content);
    });
  }
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:$|,)))/.test(String(accepted ?? ""));
}
