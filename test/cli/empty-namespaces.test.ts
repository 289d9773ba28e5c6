import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { problem, type Script, status } from "./support/scripted-cluster.ts";

const EMPTY: NonNullable<Script["rest"]> = (path) => {
  if (path === "consistency") {
    const adoption = { ended: true, message: "done" };
    return { body: { findings: [], total: 0, adoption, leader: null, replicas: [], caches: [] } };
  }
  if (path === "check") {
    const message = "Namespace typo does not exist: create it first.";
    const refused = { accepted: false, code: "MACPOOL_NO_NAMESPACE", message };
    return {
      body: { mac: "02:5d:1c:00:00:a3", namespace: "typo", ...refused, inRange: true, holders: [], elsewhere: 0 },
    };
  }
  return path.includes("/") ? problem(404, "NOT_FOUND", "nothing") : { body: { items: [], total: 0 } };
};

const COMMANDS = [
  ...[["list"], ["collisions"], ["denials"], ["networks"], ["namespaces"], ["doctor"], ["find", "web"]],
  ...[
    ["explain", "web"],
    ["network", "blue"],
    ["check", "02:5d:1c:00:00:a3"],
  ],
];
/** What they say to who may not know whether the namespace exists. */
const EXIT_CODES: Readonly<Record<string, number>> = { find: 1, explain: 1, network: 2, check: 2 };

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

  it("says of too short a part of an address how long one has to be", async () => {
    const { exitCode, stderr } = await harness.say({ rest: EMPTY }, "find", "0:2");
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('"0:2": a part of an address has at least 4 hex digits; try '),
    ]);
  });

  it.each(COMMANDS)("%s says no more to who may not know that", async (...argv) => {
    const script: Script = { rest: EMPTY, namespace: () => status(403, "no", "Forbidden") };
    const { exitCode, stdout, stderr } = await harness.say(script, ...argv, "-n", "typo");
    expect(exitCode).toBe(EXIT_CODES[argv[0] ?? ""] ?? 0);
    expect(stdout + stderr).toMatch(/\w/);
    expect(stderr).not.toContain("there is no namespace");
  });

  it.each([
    ["watch", "-n", "typo"],
    ["list", "-w", "-n", "typo"],
    ["find", "typo/web"],
    ["network", "typo/blue"],
  ])("%s %s %s says that it does not exist", async (...argv) => {
    const script: Script = { rest: EMPTY, namespace: () => status(404, "no", "NotFound") };
    const error = { exitCode: 2, stdout: "", stderr: "error: there is no namespace typo\n" };
    expect(await harness.say(script, ...argv.filter(Boolean))).toEqual(error);
  });

  it("list says of a MACPool without addresses that it does not exist, to who may know that", async () => {
    const pools =
      (names: readonly string[]): NonNullable<Script["rest"]> =>
      (path, query) =>
        path === "pools"
          ? { body: { items: names.map((name) => ({ name })), total: names.length } }
          : EMPTY(path, query);
    const listed = (rest: NonNullable<Script["rest"]>) =>
      harness.say({ rest }, "list", "-A", "--pool", "typo", "-o", "json");
    expect(await listed(pools(["default", "blue"]))).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: 'error: there is no MACPool "typo": choose one of default, blue\n',
    });
    const forbidden: NonNullable<Script["rest"]> = (path, query) =>
      path === "pools" ? problem(403, "FORBIDDEN", "User t may not list macpools.") : EMPTY(path, query);
    for (const rest of [pools(["default", "typo"]), forbidden]) expect((await listed(rest)).exitCode).toBe(0);
  });

  it("is told of every kind in one style, whoever knows it", async () => {
    const missing =
      (what: string): NonNullable<Script["rest"]> =>
      (path) =>
        path === "pools"
          ? { body: { items: [{ name: "default" }, { name: "lab" }], total: 2 } }
          : problem(404, "NOT_FOUND", `There is no ${what}`);
    const said = async (what: string, ...argv: string[]) =>
      (await harness.say({ rest: missing(what) }, ...argv)).stderr;
    expect(await said("MACPool nope. Did you mean lab?", "map", "nope")).toBe(
      'error: there is no MACPool "nope": choose one of default, lab\n',
    );
    expect(await said("namespace lba. Did you mean lab?", "namespaces", "-n", "lba")).toBe(
      "error: there is no namespace lba: did you mean lab?\n",
    );
  });
});
