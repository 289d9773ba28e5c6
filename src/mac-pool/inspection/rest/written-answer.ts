import type { Clock } from "../../../kube/clock.ts";
import { release } from "./json-of.ts";

/** Whose close says that nobody reads any more. */
export interface Reading {
  readonly closed: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** The bytes of an answer, given back when nobody reads them and nobody else will. */
export class WrittenAnswer {
  readonly tag: string;
  readonly #bytes: Promise<Buffer<ArrayBuffer>>;
  #readers = 0;
  #isOver = false;
  #isReleased = false;

  constructor(tag: string, bytes: Promise<Buffer<ArrayBuffer>>) {
    this.tag = tag;
    this.#bytes = bytes;
  }

  /** The bytes are good until the response is closed. Throws what writing them threw. */
  async readBy(response: Reading): Promise<Buffer<ArrayBuffer>> {
    this.#readers += 1;
    const bytes = await this.#bytes;
    const leave = (): void => {
      this.#readers -= 1;
      this.#releaseUnread(bytes);
    };
    if (response.closed) leave();
    else response.once("close", leave);
    return bytes;
  }

  /** Nobody else will read it. */
  end(): void {
    this.#isOver = true;
    void this.#bytes.then((bytes) => this.#releaseUnread(bytes), ignore);
  }

  #releaseUnread(bytes: Buffer<ArrayBuffer>): void {
    if (!this.#isOver || this.#readers > 0 || this.#isReleased) return;
    this.#isReleased = true;
    release(bytes);
  }
}

/** Answers that are told again for a time to whoever asks the same and may see the same: many readers cost as much as one. */
export class SharedAnswers {
  readonly #clock: Pick<Clock, "after">;
  readonly #answers = new Map<string, WrittenAnswer>();

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  find(key: string): WrittenAnswer | undefined {
    return this.#answers.get(key);
  }

  /** For so long, if at all. False when it is not kept, since there is one already or no time is given. */
  add(key: string, answer: WrittenAnswer, forMs: number | undefined): boolean {
    if (forMs === undefined || this.#answers.has(key)) return false;
    this.#answers.set(key, answer);
    this.#clock.after(forMs, () => {
      this.#answers.delete(key);
      answer.end();
    });
    return true;
  }
}

function ignore(): void {}
