import { describe, expect, it } from "vitest";
import { isAnswer, publishFailure } from "../../src/bridge-marker/publish-failure.ts";
import { ApiError, ConnectionError } from "../../src/kube/client/api-error.ts";

const answer = (status: number, reason: string, message: string) => new ApiError({ status, reason, message });

describe("a patch that fails", () => {
  it.each([
    [answer(403, "Forbidden", "no right."), "no right. Restore the ClusterRole bridge-marker-cr, or", true],
    [answer(409, "Conflict", "changed"), "changed. Somebody else writes this Node all the time", true],
    [answer(422, "Invalid", "bad name"), "bad name. Correct what the API server refuses", true],
    [answer(429, "TooManyRequests", "busy"), "busy. Look at the API server", false],
    [answer(503, "ServiceUnavailable", "down"), "down. Look at the API server", false],
    [new ConnectionError("refused", { written: false }), "refused. Look at the API server", false],
    ["text", "text. Look at the API server", false],
  ])("with %s is told with its cause and what to do", (error, text, isAnAnswer) => {
    expect(publishFailure("node-a", error)).toContain(`the bridges of Node node-a can't be published: ${text}`);
    expect(isAnswer(error)).toBe(isAnAnswer);
  });
});
