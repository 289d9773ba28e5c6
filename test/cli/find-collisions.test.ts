import { afterEach, beforeEach, expect, it } from "vitest";
import { claims, FIRST } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { problem, type Script } from "./support/scripted-cluster.ts";

const ADDRESS = `claims/${FIRST.replaceAll(":", "-")}`;
const [claim] = claims.filter(({ mac }) => mac === FIRST);
const collision = { mac: FIRST, parties: [], elsewhere: 1, advice: "Stop one." };
const SAID = `${FIRST} is also used by 1 object in namespaces that you may not see.\n`;

let harness: CliHarness;
beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const service =
  (...items: object[]): NonNullable<Script["rest"]> =>
  (path) => {
    if (path === ADDRESS) return { body: claim };
    if (path === "claims") return { body: { items: [claim], total: 1 } };
    return path === "collisions" ? { body: { items, total: items.length } } : undefined;
  };

it.each([[FIRST], [claim?.owners[0]?.name ?? "-"]])(
  "says of %s who else uses its address, as collisions does, and ends with 1",
  async (wanted) => {
    const argv = ["find", wanted, "-n", "default"];
    const { stdout, exitCode } = await harness.say({ rest: service(collision) }, ...argv);
    expect(stdout.endsWith(SAID)).toBe(true);
    expect(exitCode).toBe(1);
    const json = await harness.say({ rest: service(collision) }, ...argv, "-o", "json");
    expect(JSON.parse(json.stdout).items).toMatchObject([{ mac: FIRST, collision }]);
    expect(json.exitCode).toBe(1);
    const alone = await harness.say({ rest: service() }, ...argv);
    expect(alone).toMatchObject({ exitCode: 0, stdout: expect.not.stringContaining("also used") });
  },
);

it("answers for whom the collisions are hidden", async () => {
  const rest: Script["rest"] = (path, query) =>
    path === "collisions" ? problem(403, "FORBIDDEN", "User t may not.") : service()(path, query);
  expect(await harness.say({ rest }, "find", FIRST, "-n", "default")).toMatchObject({ exitCode: 0 });
});
