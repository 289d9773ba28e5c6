import { expect, it } from "vitest";
import { YieldPerRequest } from "../../../../src/mac-pool/inspection/rest/rest.ts";

it("lets one begin in each turn of the event loop, in the order in which they came", async () => {
  const yielding = new YieldPerRequest();
  const begun: number[] = [];
  const most: number[] = [];
  let inThisTurn = 0;
  const others = async (): Promise<void> => {
    while (begun.length < 20) {
      inThisTurn = 0;
      await new Promise((resolve) => setImmediate(resolve));
      most.push(inThisTurn);
    }
  };
  const requests = Array.from({ length: 20 }, async (_, number) => {
    await yielding.next();
    begun.push(number);
    inThisTurn += 1;
  });
  await Promise.all([others(), ...requests]);
  expect(begun).toEqual(Array.from({ length: 20 }, (_, number) => number));
  expect(Math.max(...most)).toBe(1);
});
