import { afterEach, beforeEach, expect, it } from "vitest";
import type { Step, Way } from "../../src/api/way.ts";
import type { KnownInterface } from "../../src/cli/backends/pool-backend.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { FORBIDDEN, KNOWN, KUBEVIRT, NADS, NICS, script, service } from "./support/explain-script.ts";
import { problem, type Script } from "./support/scripted-cluster.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

/** The step of the first interface that is about its network. */
async function networkStep(using: Script, what = "lab/web"): Promise<Step | undefined> {
  const { stdout } = await harness.say(using, "explain", what, "-o", "json");
  const [way] = (JSON.parse(stdout) as { readonly way: readonly Way[] }).way;
  return way?.steps.find(({ step }) => step === "network");
}

it("says that a network does not exist where the service says so and the user may not read it", async () => {
  const blue = { [`${NADS}/blue`]: FORBIDDEN };
  const rest: Script["rest"] = (path, query) =>
    path === "networks/lab/blue"
      ? problem(404, "NOT_FOUND", "There is no NetworkAttachmentDefinition lab/blue.")
      : service(KNOWN)(path, query);
  expect(await networkStep(script(blue, { rest }))).toMatchObject({
    state: "wrong",
    text: "NetworkAttachmentDefinition lab/blue does not exist: pods do not start",
  });
  expect(await networkStep(script(blue))).toMatchObject({ state: "unknown" });
});

it.each([["x/y/z"], ["good/"], ["/good"], ["a b"], [""]])(
  "says of networkName %j that it names no network, with the object and without",
  async (networkName) => {
    const networks = [{ name: "net1", multus: { networkName } }];
    const metadata = { name: "web", namespace: "lab" };
    const spec = { template: { spec: { domain: { devices: NICS }, networks } } };
    const [first, ...others] = KNOWN.interfaces as [KnownInterface, ...KnownInterface[]];
    const known = { ...KNOWN, interfaces: [{ ...first, network: `multus ${networkName}` }, ...others] };
    const path = `${KUBEVIRT}/virtualmachines/web`;
    for (const answer of [{ body: { metadata, spec } }, FORBIDDEN]) {
      expect(await networkStep(script({ [path]: answer }, { rest: service(known) }))).toEqual({
        step: "network",
        state: "wrong",
        text: `networkName ${JSON.stringify(networkName)} names no NetworkAttachmentDefinition: pods do not start`,
        remedy: "Write NAME or NAMESPACE/NAME.",
      });
    }
  },
);
