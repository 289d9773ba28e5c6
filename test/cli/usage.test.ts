import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FIRST } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { macpool } from "./support/macpool.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

describe("wrong usage", () => {
  it.each([
    [["frob"], 'unknown command "frob": see kubectl macpool --help'],
    [["colisions"], 'unknown command "colisions": did you mean collisions?'],
    [["list", "web"], "list takes no argument: use kubectl macpool find"],
    [["find"], "find takes one argument: a MAC address, a part of one, a VM, a pod or a namespace"],
    [["check", "02:zz"], '"02:zz" is not a MAC address: write six octets'],
    [["check", FIRST, "-A"], "check needs a namespace: write -n NAMESPACE in place of -A"],
    [["explain", "a/b/c/d"], '"a/b/c/d" names no object: write NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME'],
    [["explain", "pod/web", "-A"], "explain needs a namespace: write NAMESPACE/NAME, or -n in place of -A"],
    [["explain", "node/a/b"], 'unknown kind "node": use vm, vmi or pod'],
    [["map", "--from", "x"], '--from "x" is not a MAC address: write six octets'],
    [["map", "--from", "02:00:00:00:00:02", "--to", "02:00:00:00:00:01"], "--to is below --from"],
    [["list", "--from", FIRST], "list has no option --from, which belongs to map"],
    [["list", "-w", "--pool", "default"], "a watch is of all addresses: leave --pool out"],
    [["ranges", "--size", "4"], "--size belongs to --suggest"],
    [["ranges", "--suggest", "--size", "0"], '--size "0" is not a number from 1 to 16777216'],
    [["ui", "--port", "70000"], '--port "70000" is not a number from 1 to 65535'],
    [["collisions", "--contexts", "one"], "collisions --contexts compares two contexts or more: write a,b"],
    [["ranges", "--contexts", "one,,two"], '--contexts "one,,two" has an empty name: write a,b'],
    [["ranges", "--contexts", "one,one"], "--contexts names one twice"],
    [["status", "--request-timeout", "soon"], '--request-timeout "soon" is not a time: write it as 5s, 2m or 1h'],
    [["list", "--as-group", "ops"], "--as-group belongs to --as"],
    [["completion", "tcsh"], 'no script for "tcsh": use one of bash, zsh, fish, kubectl'],
    [["doctor", "-o", "name"], "doctor has no names: use -o table, json or yaml"],
  ])("%j is refused in one sentence with exit code 2", async (argv, sentence) => {
    const consistent = { findings: [], total: 0 };
    harness.cluster.script = { rest: () => ({ body: consistent }) };
    expect(await macpool(harness.kubeconfig, argv)).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `error: ${sentence}\n`,
    });
  });
});

it.each(["version", "help"])("help %s shows what --help shows", async (command) => {
  const all = await macpool(harness.kubeconfig, ["--help"]);
  expect(await macpool(harness.kubeconfig, ["help", command])).toEqual(all);
  expect(all.stdout).toContain("version of this program");
});
