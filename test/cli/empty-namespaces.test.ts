import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { problem, type Script, status } from "./support/scripted-cluster.ts";

const EMPTY: NonNullable<Script["rest"]> = (path) => {
  if (path === "consistency") {
    const adoption = { ended: true, message: "done" };
    return { body: { findings: [], total: 0, adoption, leader: null, replicas: [], caches: [] } };
  }
  return path.includes("/") ? problem(404, "NOT_FOUND", "nothing") : { body: { items: [], total: 0 } };
};

const COMMANDS = [["list"], ["collisions"], ["denials"], ["networks"], ["namespaces"], ["doctor"], ["find", "web"]];

describe("of a namespace in which nothing is found", () => {
  let harness: CliHarness;
  beforeEach(async () => {
    harness = await CliHarness.start();
  });
  afterEach(async () => {
    await harness[Symbol.asyncDispose]();
  });

  it.each(COMMANDS)("%s says that it does not exist", async (...argv) => {
    const script: Script = { rest: EMPTY, namespace: () => status(404, "no", "NotFound") };
    const error = { exitCode: 2, stdout: "", stderr: "error: there is no namespace typo\n" };
    expect(await harness.say(script, ...argv, "-n", "typo")).toEqual(error);
    expect(await harness.say(script, ...argv, "-n", "typo", "-o", "json")).toEqual(error);
  });

  it.each(COMMANDS)("%s says no more to who may not know that", async (...argv) => {
    const script: Script = { rest: EMPTY, namespace: () => status(403, "no", "Forbidden") };
    const { exitCode, stdout, stderr } = await harness.say(script, ...argv, "-n", "typo");
    expect(exitCode).toBe(argv[0] === "find" ? 1 : 0);
    expect(stdout + stderr).toMatch(/\w/);
    expect(stderr).not.toContain("there is no namespace");
  });
});
