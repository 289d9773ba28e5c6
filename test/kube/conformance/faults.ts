/** What can go wrong with one request, as faults for the front. */
import { gzipSync } from "node:zlib";
import { statusObject } from "../support/scripted-server.ts";
import { type Fault, type Passage, passOn } from "./front.ts";

/** A refusal by status. */
export function refuse(code: number, reason: string, headers: Record<string, string> = {}): Fault {
  return async ({ response }) => {
    response.writeHead(code, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(statusObject(code, reason)));
  };
}

/** A page of something in between that is no API server. */
export const badGateway: Fault = async ({ response }) => {
  response.writeHead(502, { "content-type": "text/html" });
  response.end("<html>Bad Gateway</html>");
};

export const notJson: Fault = async ({ response }) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end("<html>Please log in</html>\n");
};

export const resetBeforeHeaders: Fault = ({ reset }) => reset();

/** The backend does what it is told, and the answer is lost. */
export const loseAnswer: Fault = async ({ forward, reset }) => {
  for await (const _ of (await forward()).body) {
    // Read to its end: then it is done.
  }
  await reset();
};

/** Accepts the request and never says anything. */
export const silence: Fault = async () => {};

export const closeAfterAnswer: Fault = async (passage) => {
  passage.response.shouldKeepAlive = false;
  await passOn(passage);
};

export const compressed: Fault = async ({ response, forward }) => {
  const { status, headers, body } = await forward();
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  response.writeHead(status, { ...headers, "content-encoding": "gzip" });
  response.end(gzipSync(Buffer.concat(chunks)));
};

/** The body in small pieces with pauses. */
export function slowly(pieceBytes: number, pauseMs: number): Fault {
  return async ({ response, forward }) => {
    const { status, headers, body } = await forward();
    response.writeHead(status, headers);
    for await (const chunk of body) {
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        response.write(chunk.subarray(at, at + pieceBytes));
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
    response.end();
  };
}

/** Gets each line of a watch; gives what to send instead, and whether the watch then ends in some way. */
export type LineFault = (
  line: string,
  index: number,
) => { readonly send?: string; readonly leave?: "reset" | "end" | "silence" };

export function lines(change: LineFault): Fault {
  return async (passage) => {
    const { response, forward } = passage;
    const { status, headers, body } = await forward();
    response.writeHead(status, headers);
    response.flushHeaders();
    let index = 0;
    for await (const line of linesOf(body)) {
      const { send = line, leave: how } = change(line, index++);
      response.write(send);
      if (how) {
        await leave(passage, how);
        return;
      }
    }
    response.end();
  };
}

async function leave({ response, reset }: Passage, how: "reset" | "end" | "silence"): Promise<void> {
  if (how === "reset") await reset();
  if (how === "end") response.end();
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const complete = rest.split("\n");
    rest = complete.pop() ?? "";
    yield* complete.map((line) => `${line}\n`);
  }
}

const errorEvent = (code: number, reason: string) =>
  `${JSON.stringify({ type: "ERROR", object: statusObject(code, reason) })}\n`;

/** At a line, something else: an ERROR event, garbage, half of it, the line once more. */
export const atLine = (at: number, fault: (line: string) => ReturnType<LineFault>): Fault =>
  lines((line, index) => (index === at ? fault(line) : {}));

export const errorAt = (at: number, code: number, reason: string): Fault =>
  atLine(at, (line) => ({ send: line + errorEvent(code, reason), leave: "end" }));

export const resetAt = (at: number): Fault => atLine(at, () => ({ leave: "reset" }));
export const endAt = (at: number): Fault => atLine(at, () => ({ leave: "end" }));
export const silentAt = (at: number): Fault => atLine(at, () => ({ leave: "silence" }));
export const cutInsideLine = (at: number, how: "reset" | "end"): Fault =>
  atLine(at, (line) => ({ send: line.slice(0, line.length / 2), leave: how }));
export const garbageAt = (at: number): Fault => atLine(at, (line) => ({ send: `${line}<html>502</html>\n` }));
export const everyLineTwice: Fault = lines((line) => ({ send: line + line }));

/** After each change of an object the event before it comes once more, as if the order were lost. */
export function oldEventsAgain(): Fault {
  const before = new Map<string, string>();
  return lines((line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name?: string } } };
    const { name = "" } = object.metadata;
    if (type !== "ADDED" && type !== "MODIFIED") {
      before.delete(name);
      return {};
    }
    const send = line + (before.get(name) ?? "");
    before.set(name, line);
    return { send };
  });
}

/** A field of 10 MB in every object. */
export const huge: Fault = lines((line) => ({
  send: line.replace('"spec":{', `"spec":{"huge":"${"x".repeat(10e6)}",`),
}));
