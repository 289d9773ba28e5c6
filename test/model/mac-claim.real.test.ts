import { describe, expect, it } from "vitest";
import { shareOf } from "../support/share.ts";
import { check, checkerJar } from "./checker.ts";
import { SMALL, SOON_MISSED, titleOf } from "./models.ts";

const jar = await checkerJar(process.env);

describe.skipIf(jar === undefined)("the model of a claim's life", () => {
  it.each(shareOf(SMALL).map((model) => [titleOf(model), model] as const))(
    "is right in every state: %s",
    async (_, model) => {
      const { violation, states } = await check(jar as string, model);
      expect(violation).toBeUndefined();
      expect(states).toBeGreaterThanOrEqual(model.states);
    },
  );

  it.each(shareOf(SOON_MISSED).map((model) => [model.without, model] as const))(
    "is wrong without %s",
    async (_, model) => {
      const { violation } = await check(jar as string, model);
      expect(violation?.invariant).toMatch(/^(OneRuns|OneHolds|Claimed)$/);
    },
  );
});
