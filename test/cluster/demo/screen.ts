import { type Entry, renderEntry, renderProgress, type TextFormat } from "./text-format.ts";

/** Where the demo writes: a terminal whose last line can be overwritten, or a plain stream. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A plain stream gets a line of progress no more often than this. */
const PLAIN_PROGRESS_MS = 15_000;
const CLEAR_LINE = "\r\u001b[2K";

/** Finished lines scroll, the one under way is overwritten in place (a terminal) or shown now and then (a stream). */
export class Screen {
  readonly #output: Output;
  readonly #format: TextFormat;
  readonly #now: () => number;
  #live = false;
  #plain: { text: string; atMs: number } | undefined;

  constructor(output: Output, format: TextFormat, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#format = format;
    this.#now = now;
  }

  line(text = ""): void {
    this.#clear();
    this.#output.write(`${text}\n`);
  }

  /** Something is under way; `fraction` of 0..1 draws a bar. */
  progress(label: string, text: string, fraction?: number): void {
    const line = renderProgress(label, text, fraction, this.#format);
    if (this.#output.isTTY === true) {
      this.#output.write(`${CLEAR_LINE}${line}`);
      this.#live = true;
    } else if (fraction !== undefined) {
      this.#plainProgress(line);
    }
  }

  end(entry: Entry): void {
    this.#clear();
    this.#plain = undefined;
    for (const line of renderEntry(entry, this.#format)) this.#output.write(`${line}\n`);
  }

  #plainProgress(text: string): void {
    const atMs = this.#now();
    if (this.#plain !== undefined && (this.#plain.text === text || atMs - this.#plain.atMs < PLAIN_PROGRESS_MS)) return;
    this.#plain = { text, atMs };
    this.#output.write(`${text}\n`);
  }

  #clear(): void {
    if (this.#live) this.#output.write(CLEAR_LINE);
    this.#live = false;
  }
}
