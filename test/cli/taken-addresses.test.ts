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

const LAB_CLAIM = { ...CLAIM, status: { ...CLAIM.status, owners: [{ ...CLAIM.status.owners[0], namespace: "lab" }] } };
const KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/lab";
const VMI_PATH = `${KUBEVIRT}/virtualmachineinstances/web`;
const LAUNCHER_PATH = "/api/v1/namespaces/lab/pods/launcher";

const ownedBy = (kind: string, uid: string) => ({ ownerReferences: [{ kind, name: "web", uid }] });
const GUEST = {
  domain: { devices: { interfaces: [{ name: "net1", macAddress: MAC, bridge: {} }] } },
  networks: [{ name: "net1", multus: { networkName: "blue" } }],
};
const PROVEN: Readonly<Record<string, object>> = {
  [`${KUBEVIRT}/virtualmachines/web`]: {
    metadata: { namespace: "lab", name: "web", uid: "vm-1" },
    spec: { template: { spec: GUEST } },
  },
  [VMI_PATH]: {
    metadata: { namespace: "lab", name: "web", uid: "vmi-1", ...ownedBy("VirtualMachine", "vm-1") },
    spec: GUEST,
  },
  [LAUNCHER_PATH]: {
    metadata: {
      ...{ namespace: "lab", name: "launcher", uid: "pod-1", labels: { "kubevirt.io": "virt-launcher" } },
      ...ownedBy("VirtualMachineInstance", "vmi-1"),
      annotations: {
        "k8s.v1.cni.cncf.io/networks": JSON.stringify([{ name: "blue", interface: "pod1b2c", mac: MAC }]),
      },
    },
  },
};

const withoutService = (objects: Readonly<Record<string, object>>, hidden: string = ""): Script => ({
  proxy: status(503, "away"),
  claims: [LAB_CLAIM],
  other: (path) => {
    if (path === hidden) return status(403, "no", "Forbidden");
    return objects[path] === undefined ? undefined : { body: objects[path] };
  },
});

const HELD = { interface: "pod1b2c", mac: MAC, claim: CLAIM.metadata.name, phase: "Bound", origin: "automatic" };
const withService: Script = {
  rest: (path, query) => {
    const holder = { kind: "VirtualMachine", name: "web" };
    const known = { namespace: "lab", exists: true, interfaces: [{ ...HELD, holder }], history: [], partial: [] };
    if (path === "owners/Pod/lab/launcher") return { body: { kind: "Pod", name: "launcher", ...known } };
    return rest(path, query);
  },
  other: (path) => (PROVEN[path] === undefined ? undefined : { body: PROVEN[path] }),
};

it.each<[string, Script, string, string]>([
  ["the service", withService, "pod/lab/launcher", "automatic, Bound"],
  ["the objects, of a VMI", withoutService(PROVEN), "vmi/lab/web", "automatic, Allocated"],
  ["the objects, of a launcher", withoutService(PROVEN), "pod/lab/launcher", "automatic, Allocated"],
])("of a VM are accepted for what runs it: by %s", async (_, script, what, state) => {
  const { stdout, exitCode } = await harness.say(script, "explain", what);
  expect(stdout).toContain(`ok       accepted   ${MAC}, ${state}, of VirtualMachine lab/web\n`);
  expect(stdout).not.toContain("no claim");
  expect(stdout.split("\n").filter((line) => /^(net1|pod1b2c) .*02:/.test(line))).toHaveLength(1);
  expect(exitCode).toBe(0);
  const found = await harness.say(script, "find", what);
  expect(found.stdout).toMatch(new RegExp(`^\\w+ lab/\\w+ has ${MAC}, of VirtualMachine lab/web\\.\n`));
});

const alike = (path: string, metadata: object) => {
  const object = PROVEN[path] as { readonly metadata: object };
  return { ...PROVEN, [path]: { ...object, metadata: { ...object.metadata, ...metadata } } };
};

it.each<[string, Readonly<Record<string, object>>, string]>([
  ["a VMI that names a VM with another UID", alike(VMI_PATH, ownedBy("VirtualMachine", "vm-0")), "vmi/lab/web"],
  [
    "a launcher that names a VMI with another UID",
    alike(LAUNCHER_PATH, ownedBy("VirtualMachineInstance", "vmi-0")),
    "pod/lab/launcher",
  ],
  ["a pod that calls itself a launcher", alike(LAUNCHER_PATH, { ownerReferences: [] }), "pod/lab/launcher"],
])("of a VM are taken by %s", async (_, objects, what) => {
  const { stdout } = await harness.say(withoutService(objects), "explain", what);
  expect(stdout).toContain(`wrong    accepted   it takes ${MAC}, which the pool gave to VirtualMachine lab/web\n`);
});

it("of a VM are not called taken by its VMI where the user may not see the VM", async () => {
  const hidden = withoutService(PROVEN, `${KUBEVIRT}/virtualmachines/web`);
  const { stdout } = await harness.say(hidden, "explain", "vmi/lab/web");
  expect(stdout.replace(/\s+/g, " ")).toContain(
    `unknown accepted ${MAC}, which the pool gave to VirtualMachine lab/web. Whether this belongs to it is not visible to you`,
  );
});

it.each<[string, object, string]>([
  [
    "one claim that the pool observed",
    { origin: "observed" },
    "the pool did not give out, but found on VirtualMachine default/web",
  ],
  [
    "owners who came to it in several ways",
    { owners: [WEB, { ...WEB, name: "db", origin: "observed" }] },
    "is held by VirtualMachine default/web and VirtualMachine default/db",
  ],
  [
    "owners out of sight",
    { elsewhere: 1 },
    "is held by VirtualMachine default/web and 1 object in namespaces that you may not see",
  ],
])("is said truly to be taken: %s", async (_, claim, text) => {
  const script: Script = {
    rest: (path, query) => {
      const isClaim = path === `claims/${MAC.replaceAll(":", "-")}`;
      return isClaim ? { body: { ...CLAIM_VIEW, ...claim, inRange: true, range: "all" } } : rest(path, query);
    },
    other: (path) => (path === "/api/v1/namespaces/lab/pods/thief" ? { body: pod } : status(403, "no", "Forbidden")),
  };
  const { stdout } = await harness.say(script, "explain", "pod/lab/thief");
  expect(stdout.replace(/\s+/g, " ")).toContain(`wrong accepted it takes ${MAC}, which ${text}`);
});
