import { afterEach, beforeEach, expect, it } from "vitest";
import { NETWORK_STATUS_ANNOTATION } from "../../src/api/names.ts";
import type { Step, Way } from "../../src/api/way.ts";
import type { KnownInterface } from "../../src/cli/backends/pool-backend.ts";
import { CliHarness } from "./support/cli-harness.ts";
import {
  FORBIDDEN,
  KNOWN,
  KUBEVIRT,
  list,
  NADS,
  NICS,
  nad,
  PODS,
  script,
  service,
  there,
} from "./support/explain-script.ts";
import { networks } from "./support/network-answers.ts";
import { type Answer, problem, type Script } from "./support/scripted-cluster.ts";

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

const ALL_NADS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
const inNamespace = ({ body }: Answer, namespace: string): object => {
  const { metadata, ...network } = body as { readonly metadata: object };
  return { ...network, metadata: { ...metadata, namespace } };
};
const SAME =
  "leads to bridge br1 VLAN 100 too: VMs of both reach each other. Use one name, or another VLAN to keep them apart.";

it("tells who may list networks which other network leads to the same bridge and VLAN", async () => {
  const blue = nad("blue", { vlan: 100, requireVlanFiltering: true });
  const others = [blue, nad("green", { vlan: 200 })].map((one) => inNamespace(one, "lab"));
  const alone = script({ [ALL_NADS]: list(...others) });
  expect(await networkStep(alone)).toMatchObject({ state: "ok", text: "lab/blue: bridge br1, VLAN 100" });
  const red = inNamespace(nad("red", { vlan: 100 }), "team");
  expect(await networkStep(script({ [ALL_NADS]: list(...others, red) }))).toMatchObject({
    state: "ok",
    text: `lab/blue: bridge br1, VLAN 100. Warning: network team/red ${SAME}`,
  });
});

it("says of the other network what the service tells, where the user may read their own network alone", async () => {
  const [first] = networks;
  const message = `a network of another namespace ${SAME}`;
  const finding = { code: "same-network", severity: "warning", summary: "same network", message };
  const told = { ...first, namespace: "lab", name: "blue", bridge: "br1", vlan: 100, findings: [finding] };
  const rest: Script["rest"] = (path, query) =>
    path === "networks/lab/blue" ? there(told) : service(KNOWN)(path, query);
  const hidden = { [ALL_NADS]: FORBIDDEN, "/api/v1/nodes": FORBIDDEN };
  expect(await networkStep(script(hidden, { rest }))).toMatchObject({
    state: "ok",
    text: `lab/blue: bridge br1, VLAN 100. Warning: ${message}`,
  });
});

it("goes the way of a pod that has an interface by its network-status only, without taking that for certain", async () => {
  const said = [{ name: "lab/blue", interface: "net1", mac: "02:5d:1c:00:00:b7" }];
  const metadata = { name: "t4", namespace: "lab", annotations: { [NETWORK_STATUS_ANNOTATION]: JSON.stringify(said) } };
  const pod = { metadata, spec: { nodeName: "node-a" }, status: { phase: "Running" } };
  const using = script({ [`${PODS}/t4`]: there(pod) }, { rest: (path) => service(KNOWN)(path, new URLSearchParams()) });
  const { stdout } = await harness.say(using, "explain", "pod/lab/t4", "-o", "json");
  const [way] = (JSON.parse(stdout) as { readonly way: readonly Way[] }).way;
  expect(way?.interface).toBe("net1");
  expect(way?.steps.map(({ step, state }) => `${step} ${state}`).slice(0, 5)).toEqual([
    "accepted unknown",
    "network ok",
    "bridge ok",
    "scheduled ok",
    "attached ok",
  ]);
  expect(way?.steps.map(({ step }) => step)).toContain("alone");
});
