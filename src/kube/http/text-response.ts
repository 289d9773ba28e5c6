import type { IncomingMessage, ServerResponse } from "node:http";

export interface TextResponse {
  readonly status: number;
  /** Plain text unless given. */
  readonly type?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** As one text: Node sends it and its headers in one write. The connection ends where the request has more to come. */
export function writeTextResponse(raw: ServerResponse, { status, type, body, headers }: TextResponse): void {
  if (isUnread(raw.req)) raw.setHeader("connection", "close");
  const length = { "content-length": Buffer.byteLength(body) };
  raw.writeHead(status, { ...headers, "content-type": type ?? "text/plain; charset=utf-8", ...length }).end(body);
}

/** Whether there is more of its body to come, which nobody wants. */
function isUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);
}
