import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

const MAX_KEPT = 1_000;
/** Of what tells one question from another. A forged one may be as long as a request. */
const MAX_QUESTION_CHARS = 65_536;

export interface QuestionsOptions {
  /** Questions that wait for the API server. */
  readonly maxInFlight: number;
  readonly keptMs: number;
}

export class TooManyQuestions extends Error {
  override readonly name = "TooManyQuestions";
}

/**
 * Questions to the API server whose answers are kept briefly. The same question is under way once, and there are never
 * more under way than the limit: any further one is not asked, so that a flood of them takes nothing from other calls.
 */
export class Questions<T extends object> {
  readonly #maxInFlight: number;
  readonly #answers: LRUCache<string, T>;
  readonly #underWay = new Map<string, Promise<T>>();

  constructor({ maxInFlight, keptMs }: QuestionsOptions) {
    this.#maxInFlight = maxInFlight;
    this.#answers = new LRUCache({ max: MAX_KEPT, ttl: keptMs });
  }

  /** `ask` throws what the API server's refusal or a broken connection throws; that is not kept. */
  async answer(question: string, ask: () => Promise<T>): Promise<T> {
    if (question.length > MAX_QUESTION_CHARS) throw new TooManyQuestions("the question is too long");
    // Questions may contain tokens, which are not to stay in memory.
    const key = createHash("sha256").update(question).digest("base64");
    const known = this.#answers.get(key) ?? this.#underWay.get(key);
    if (known !== undefined) return known;
    if (this.#underWay.size >= this.#maxInFlight) throw new TooManyQuestions("too many questions are under way");
    const asked = ask();
    this.#underWay.set(key, asked);
    try {
      const answer = await asked;
      this.#answers.set(key, answer);
      return answer;
    } finally {
      this.#underWay.delete(key);
    }
  }
}
