/**
 * What a test and the agent in the guest say to each other. Requests and answers are files in the shared directory; a
 * line on the guest's console, the file's number, says that one is complete.
 */

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Outcome } from "../netns/machine.ts";

export type Ask =
  | { readonly do: "run"; readonly argv: readonly string[] /** Base64. */; readonly input: string }
  | { readonly do: "hold"; readonly argv: readonly string[] }
  | { readonly do: "end"; readonly pid: number };

export type Reply = { readonly outcome: Outcome } | { readonly pid: number | undefined } | { readonly failure: string };

/** Before the number of an answer; the kernel writes to the console too. */
export const ANSWER_MARK = "@answer ";
export const READY_MARK = "@ready";

export function writeMessage(shared: string, kind: "ask" | "reply", number: number, message: Ask | Reply): void {
  writeFileSync(path.join(shared, `${kind}-${number}.json`), JSON.stringify(message));
}

export function readMessage<T extends Ask | Reply>(shared: string, kind: "ask" | "reply", number: number): T {
  return JSON.parse(readFileSync(path.join(shared, `${kind}-${number}.json`), "utf8"));
}
