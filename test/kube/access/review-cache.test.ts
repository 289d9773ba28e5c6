import { afterEach, expect, it, vi } from "vitest";
import { ReviewCache, TooManyReviews } from "../../../src/kube/access/review-cache.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const LIMITS = { maxInFlight: 2, keptMs: 60_000 };

it("asks no more at once than it may, and goes on afterwards", async () => {
  const questions = new ReviewCache<{ answer: string }>(LIMITS);
  const { promise, resolve } = Promise.withResolvers<{ answer: string }>();
  let asked = 0;
  const ask = () => {
    asked += 1;
    return promise;
  };
  const underWay = ["a", "b", "a"].map((question) => questions.answer(question, ask));
  expect(asked).toBe(2);
  await expect(questions.answer("c", ask)).rejects.toThrow(TooManyReviews);
  resolve({ answer: "yes" });
  expect(await Promise.all(underWay)).toEqual(Array(3).fill({ answer: "yes" }));
  await questions.answer("c", ask);
  await questions.answer("b", ask);
  expect(asked).toBe(3);
});

it("keeps no failure", async () => {
  const questions = new ReviewCache<object>(LIMITS);
  const failing = questions.answer("a", async () => {
    throw new Error("refused");
  });
  await expect(failing).rejects.toThrow("refused");
  expect(await questions.answer("a", async () => ({ yes: true }))).toEqual({ yes: true });
});

it("asks nothing that is as long as a forged review", async () => {
  const questions = new ReviewCache<object>(LIMITS);
  const answer = questions.answer("x".repeat(1_000_000), async () => ({}));
  await expect(answer).rejects.toThrow("the question is too long");
});

it("keeps answers of some megabytes in all, the last ones", async () => {
  const questions = new ReviewCache<{ groups: string[] }>(LIMITS);
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return { groups: Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(200)) };
  };
  for (let user = 0; user < 100; user++) await questions.answer(`${user}`, ask);
  expect(asked).toBe(100);
  for (let user = 95; user < 100; user++) await questions.answer(`${user}`, ask);
  expect(asked).toBe(100);
  for (let user = 0; user < 70; user++) await questions.answer(`${user}`, ask);
  expect(asked).toBe(170);
});

interface Known {
  readonly known: boolean;
}

function goOn(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
  vi.advanceTimersByTime(1);
}

async function answeredLately(known: boolean): Promise<ReviewCache<Known>> {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => Date.now());
  const questions = new ReviewCache<Known>({ ...LIMITS, isCheap: (answer) => !answer.known });
  await questions.answer("a", async () => ({ known }));
  goOn(LIMITS.keptMs + 1);
  return questions;
}

const never = () => false;

it("asks again what was answered lately, however many strangers ask", async () => {
  const questions = await answeredLately(true);
  expect(await questions.answer("a", async () => ({ known: false }), never)).toEqual({ known: false });
  goOn(LIMITS.keptMs + 1);
  await expect(questions.answer("a", async () => ({ known: true }), never)).rejects.toThrow(TooManyReviews);
});

it("asks again what was answered lately while as many strangers ask as may", async () => {
  const questions = await answeredLately(true);
  const hanging = new Promise<Known>(() => {});
  for (let stranger = 0; stranger < LIMITS.maxInFlight; stranger++)
    void questions.answer(`s${stranger}`, () => hanging);
  await expect(questions.answer("one more", () => hanging)).rejects.toThrow(TooManyReviews);
  expect(await questions.answer("a", async () => ({ known: true }), never)).toEqual({ known: true });
});

it("counts among strangers who was one, and who has not asked for long", async () => {
  const strangers = await answeredLately(false);
  await expect(strangers.answer("a", async () => ({ known: true }), never)).rejects.toThrow(TooManyReviews);
  const questions = await answeredLately(true);
  goOn(10 * LIMITS.keptMs);
  await expect(questions.answer("a", async () => ({ known: true }), never)).rejects.toThrow(TooManyReviews);
});
