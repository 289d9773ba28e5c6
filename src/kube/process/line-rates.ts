import { TokenBucket } from "../informer/token-bucket.ts";
import { shortText } from "../short-text.ts";

/** Lines with one sentence: a burst is there as a whole, and what goes on is seen to go on. */
const RATE = { burst: 1_000, perSecond: 10 };
/** Of 0.5 kB each. A program has some dozens. */
const MAX_SENTENCES = 256;
const MAX_CHARS = 128;

interface Sentence {
  readonly bucket: TokenBucket;
  leftOut: number;
}

/**
 * How often each sentence may be logged. What tenants and strangers cause comes in any number: it would fill the node's disk, and
 * push everything else out of what the kubelet keeps.
 */
export class LineRates {
  readonly #sentences = new Map<string, Sentence>();

  /** How many lines with the sentence were left out before this one; undefined where this one is to be left out as well. */
  leftOutBefore(text: string, nowMs: number): number | undefined {
    const sentence = this.#sentenceOf(shortText(text, MAX_CHARS));
    const { leftOut } = sentence;
    const isLogged = sentence.bucket.tryTake(nowMs);
    sentence.leftOut = isLogged ? 0 : leftOut + 1;
    return isLogged ? leftOut : undefined;
  }

  #sentenceOf(key: string): Sentence {
    const known = this.#sentences.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#sentences.keys();
    if (oldest !== undefined && this.#sentences.size >= MAX_SENTENCES) this.#sentences.delete(oldest);
    const sentence = { bucket: new TokenBucket(RATE), leftOut: 0 };
    this.#sentences.set(key, sentence);
    return sentence;
  }
}
