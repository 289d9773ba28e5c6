import { afterEach, beforeEach, expect, it } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { CLAIM } from "./support/objects.ts";
import { type Script, status } from "./support/scripted-cluster.ts";

const MAC = CLAIM.spec.mac;
const THIEF = { kind: "Pod", namespace: "lab", name: "thief", exists: true };
const WEB = { ...CLAIM.status.owners[0], node: "node-a", pod: "virt-launcher-web-x7k2p" };
const CLAIM_VIEW = { ...CLAIM.spec, name: CLAIM.metadata.name, phase: "Bound", owners: [WEB], elsewhere: 0 };

const rest: NonNullable<Script["rest"]> = (path) => {
  if (path === "owners/Pod/lab/thief") {
    return { body: { ...THIEF, interfaces: [{ interface: "net1", mac: MAC }], history: [], partial: [] } };
  }
  if (path === `claims/${MAC.replaceAll(":", "-")}`) return { body: { ...CLAIM_VIEW, inRange: true, range: "all" } };
  return path === "claims" || path === "collisions" ? { body: { items: [], total: 0 } } : undefined;
};

const pod = {
  metadata: {
    ...{ namespace: "lab", name: "thief" },
    annotations: { "k8s.v1.cni.cncf.io/networks": JSON.stringify([{ name: "blue", interface: "net1", mac: MAC }]) },
  },
};

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

it("of a pod that the pool gave to a VM are told alike by find and explain", async () => {
  const other: Script["other"] = (path) =>
    path === "/api/v1/namespaces/lab/pods/thief" ? { body: pod } : status(403, "no", "Forbidden");
  const found = await harness.say({ rest, other }, "find", "pod/lab/thief");
  expect(found.stdout).toMatch(
    `Pod lab/thief has ${MAC}, and no claim of it.\n${MAC} is held by VirtualMachine default/web\n`,
  );
  expect(found.exitCode).toBe(0);
  const explained = await harness.say({ rest, other }, "explain", "pod/lab/thief");
  expect(explained.stdout).toContain(
    `wrong    accepted   it takes ${MAC}, which the pool gave to VirtualMachine default/web\n`,
  );
});

it("are looked for only where an object is named with its namespace", async () => {
  const asked = async (...argv: string[]) => {
    const { exitCode, stdout } = await harness.say({ rest }, "find", ...argv);
    return [exitCode, stdout];
  };
  expect(await asked("thief")).toEqual([1, ""]);
  expect(await asked("pod/lab/other")).toEqual([1, ""]);
  expect((await asked("pod/thief", "-n", "lab"))[0]).toBe(0);
});
