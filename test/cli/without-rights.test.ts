import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { macpool, TINY } from "./support/macpool.ts";
import { type Script, status } from "./support/scripted-cluster.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

describe("an error for a user who may ask neither the service nor read the objects", () => {
  const forbidden = status(403, 'macclaims is forbidden: User "ann" cannot list resource "macclaims"', "Forbidden");
  const nothing: Script = {
    proxy: status(403, "no proxy for you", "Forbidden"),
    claims: forbidden,
    pools: forbidden,
  };
  const role = `you may not ask the MAC pool, because you have no Role macpool-inspection in namespace addons. An administrator gives it to all users with
  kubectl --namespace addons create role macpool-inspection --verb=get --resource=services/proxy --resource-name=https:kubemacpool-service:inspection
  kubectl --namespace addons create rolebinding macpool-inspection --role=macpool-inspection --group=system:authenticated
`;
  const asOwner = ["-n", "lab", "--pool-namespace", "addons"];

  it.each([["list", ...asOwner], ["find", "web", ...asOwner], ["status", "--pool-namespace", "addons"], ["list"]])(
    "tells %s %s of the Role that is missing, and of nothing else",
    async (...argv) => {
      expect(await harness.say(nothing, ...argv)).toEqual({ exitCode: 2, stdout: "", stderr: `error: ${role}` });
      const { stderr } = await macpool(harness.kubeconfig, [...argv, "--kubeconfig", harness.kubeconfig], {
        terminal: TINY,
      });
      const commands = role.split("\n").filter((line) => line.startsWith("  kubectl"));
      expect(stderr.split("\n").filter((line) => line.startsWith("  "))).toEqual(commands);
    },
  );

  it("tells of the Role where only the service knows the answer", async () => {
    const { stderr } = await harness.say(nothing, "denials", ...asOwner);
    expect(stderr).toBe(`error: only the MAC pool's service knows the denials. ${role}`);
  });

  it("says why the service can't be asked where that is something else", async () => {
    const webhooks = status(403, "no", "Forbidden");
    const { stderr, exitCode } = await harness.say({ ...nothing, webhooks }, "list");
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^error: the MAC pool's service can't be asked: you may not read .*: give --pool-namespace\. Nor may you read its objects: macclaims is forbidden: .* For one namespace, write -n NAMESPACE --pool-namespace NAMESPACE;/,
    );
    const away = await harness.say({ ...nothing, proxy: status(503, "no endpoints") }, "list", ...asOwner);
    expect(away.stderr).toMatch(
      /^error: the MAC pool's service can't be asked: it does not answer \(no endpoints\)\. Nor .*Look at the pods of/,
    );
  });
});
