import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claims } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { type Script, status } from "./support/scripted-cluster.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const rest: Script["rest"] = () => ({ body: { items: claims, total: claims.length } });
const OTHER = claims[2]?.name ?? "";

describe("kubectl macpool list -l", () => {
  it("shows the addresses whose claims the API server selects", async () => {
    const labelled = [{ metadata: { name: OTHER }, spec: { mac: claims[2]?.mac } }];
    for (const argv of [["-l", "team=blue,tier!=web"], ["--selector=team=blue,tier!=web"]]) {
      harness.cluster.asked.length = 0;
      const { stdout, exitCode } = await harness.say({ rest, claims: labelled }, "list", "-A", "-o", "name", ...argv);
      expect({ stdout, exitCode }).toEqual({
        stdout: `macclaim.macpool.network.kubevirt.io/${OTHER}\n`,
        exitCode: 0,
      });
      const asked = harness.cluster.asked.map(({ path }) =>
        new URL(path, "http://x").searchParams.get("labelSelector"),
      );
      expect(asked).toContain("team=blue,tier!=web");
    }
  });

  it("says that no address has the labels", async () => {
    expect(await harness.say({ rest, claims: [] }, "list", "-A", "-l", "team=red", "--pool", "default")).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "No addresses of MACPool default with labels team=red are in use in the cluster.\n",
    });
  });

  it.each([
    [
      "a selector that is none",
      status(400, 'unable to parse requirement: found "=", expected: identifier', "BadRequest"),
      'unable to parse requirement: found "=", expected: identifier',
    ],
    [
      "a user who may not list claims",
      status(403, "macclaims is forbidden", "Forbidden"),
      "-l takes the right to list MACClaims in the whole cluster: leave -l out (macclaims is forbidden)",
    ],
  ])("is an error for %s", async (_, claimsAnswer, message) => {
    expect(await harness.say({ rest, claims: claimsAnswer }, "list", "-l", "=")).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: ${message}\n`,
    });
  });

  it("is not for a watch, nor for other commands", async () => {
    const refused = async (...argv: string[]) => (await harness.say({ rest }, ...argv)).stderr;
    expect(await refused("list", "-w", "-l", "a=b")).toBe("error: a watch is of all addresses: leave --selector out\n");
    expect(await refused("find", "web", "-l", "a=b")).toBe(
      "error: find has no option --selector, which belongs to list\n",
    );
  });

  it("is completed", async () => {
    expect((await harness.say({}, "__complete", "list", "--sel")).stdout).toContain("--selector");
  });
});
