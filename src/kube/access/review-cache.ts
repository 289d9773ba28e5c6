import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

const MAX_KEPT = 1_000;
/** That a question had a good answer is remembered this many times as long as the answer. */
const LATELY = 10;
/** Of all answers, as JSON: somebody may be in thousands of groups. */
const MAX_KEPT_CHARS = 4 * 1024 * 1024;
/** Of what distinguishes one question from another. A forged one may be as long as a request. */
const MAX_QUESTION_CHARS = 65_536;

export interface ReviewCacheOptions<T> {
  /** Questions that wait for the API server. Those that had a good answer lately are asked beyond that. */
  readonly maxInFlight: number;
  readonly keptMs: number;
  /** Most answers of each kind. There is room for all of them from the start. */
  readonly maxKept?: number | undefined;
  /** Answers that a stranger can cause in any number. They are kept apart and displace only each other. None unless given. */
  readonly isCheap?: (answer: T) => boolean;
}

export class TooManyReviews extends Error {
  override readonly name = "TooManyReviews";
}

/** One for all: a flood of questions would spend most of its time on the stacks of new ones. */
const TOO_MANY = new TooManyReviews("too many questions are under way");

/**
 * Questions to the API server whose answers are kept briefly. The same question is under way once. While as many are under way
 * as the limit says, no new one is asked, so that a flood of them takes nothing from other calls.
 */
export class ReviewCache<T extends object> {
  readonly #maxInFlight: number;
  readonly #answers: LRUCache<string, T>;
  readonly #cheapAnswers: LRUCache<string, T>;
  readonly #answeredLately: LRUCache<string, true>;
  readonly #isCheap: (answer: T) => boolean;
  readonly #underWay = new Map<string, Promise<T>>();

  constructor({ maxInFlight, keptMs, maxKept: max = MAX_KEPT, isCheap = () => false }: ReviewCacheOptions<T>) {
    this.#maxInFlight = maxInFlight;
    this.#isCheap = isCheap;
    const sizeCalculation = (answer: T): number => JSON.stringify(answer).length;
    this.#answers = new LRUCache({ max, maxSize: MAX_KEPT_CHARS, sizeCalculation, ttl: keptMs });
    this.#cheapAnswers = new LRUCache({ max, ttl: keptMs });
    this.#answeredLately = new LRUCache({ max, ttl: LATELY * keptMs });
  }

  /**
   * `ask` throws what the API server's refusal or a broken connection throws; that is not kept. `mayAsk` is called where there
   * is no answer yet, and none but a cheap one was given lately; false counts as too many questions.
   */
  async answer(question: string, ask: () => Promise<T>, mayAsk: () => boolean = () => true): Promise<T> {
    if (question.length > MAX_QUESTION_CHARS) throw new TooManyReviews("the question is too long");
    // Questions may contain tokens, which are not to stay in memory.
    const key = createHash("sha256").update(question).digest("base64");
    const known = this.#answers.get(key) ?? this.#cheapAnswers.get(key) ?? this.#underWay.get(key);
    if (known !== undefined) return known;
    const isStranger = !this.#answeredLately.has(key);
    if (isStranger && (this.#underWay.size >= this.#maxInFlight || !mayAsk())) throw TOO_MANY;
    const asked = ask();
    this.#underWay.set(key, asked);
    try {
      const answer = await asked;
      this.#keep(key, answer);
      return answer;
    } finally {
      this.#underWay.delete(key);
    }
  }

  #keep(key: string, answer: T): void {
    if (this.#isCheap(answer)) {
      this.#cheapAnswers.set(key, answer);
      this.#answeredLately.delete(key);
    } else {
      this.#answers.set(key, answer);
      this.#answeredLately.set(key, true);
    }
  }
}
