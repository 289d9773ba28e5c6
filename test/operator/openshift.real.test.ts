import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPENSHIFT_NETWORKS, SECURITY_CONTEXT_CONSTRAINTS } from "../../src/api/kinds.ts";
import { LINUX_BRIDGE_DAEMON_SET } from "../../src/api/names.ts";
import { isNotFound } from "../../src/kube/client/api-error.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { CONSTRAINTS_CRD, NETWORKS_CRD } from "./support/external-kinds.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const INSTALLER = { name: LINUX_BRIDGE_DAEMON_SET, namespace: NAMESPACE };
const NETWORK = { name: "cluster" };
const ENFORCE = "pod-security.kubernetes.io/enforce";
const COMMAND = `Run kubectl label namespace ${NAMESPACE} --overwrite ${ENFORCE}=privileged`;
/** Of a change of the platform; part of the contract. */
const NOTICED_WITHIN = { timeout: 10_000, interval: 50 };
const OWN_CONSTRAINTS = ["linux-bridge", "bridge-marker"];

/** One story: the tests follow each other on one cluster. Nobody edits the configuration where they do not say so. */
describe("OpenShift, as the operator notices it", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install({ bare: true });
    await cluster.addNode("node-a");
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const condition = async (wanted: string) =>
    (await cluster.config())?.status?.conditions?.find(({ type }) => type === wanted);
  const constraints = (name: string) => cluster.find<KubeObject>(SECURITY_CONTEXT_CONSTRAINTS, { name });
  const role = (name: string) => cluster.find(RESOURCES.roles, { name: `${name}-scc`, namespace: NAMESPACE });
  const binDir = async () =>
    (await cluster.find(RESOURCES.daemonSets, INSTALLER))?.spec?.template.spec?.volumes?.[0]?.hostPath?.path;

  /** The namespace's level of Pod Security; null takes the label away. */
  async function setLevel(level: string | null): Promise<void> {
    const body = { metadata: { labels: { [ENFORCE]: level } } };
    await cluster.admin.patch(RESOURCES.namespaces, { name: NAMESPACE }, { type: "merge", body });
  }

  async function setMultiNetworkDisabled(disableMultiNetwork: boolean): Promise<void> {
    await cluster.admin.patch(OPENSHIFT_NETWORKS, NETWORK, { type: "merge", body: { spec: { disableMultiNetwork } } });
  }

  /** The API server serves a new kind a moment after it was defined. */
  async function createNetwork(): Promise<void> {
    await cluster.until(async () => {
      try {
        await cluster.admin.create(OPENSHIFT_NETWORKS, { metadata: NETWORK, spec: {} });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    });
  }

  async function mayUse(account: string, name: string, namespace = NAMESPACE): Promise<boolean> {
    const { group, plural } = SECURITY_CONTEXT_CONSTRAINTS;
    const user = `system:serviceaccount:${NAMESPACE}:${account}`;
    const resourceAttributes = { group, resource: plural, verb: "use", name, namespace };
    const asked = { metadata: {}, spec: { user, resourceAttributes } };
    return (await cluster.admin.create(RESOURCES.subjectAccessReviews, asked)).status?.allowed === true;
  }

  it("asks for the label of a namespace that takes no pods of the node, and notices when it is set", async () => {
    await setLevel("restricted");
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {} });
    await expect
      .poll(() => condition("Degraded"))
      .toMatchObject({
        status: "True",
        reason: "FailedCreate",
        message: expect.stringContaining(
          `DaemonSet "${NAMESPACE}/bridge-marker": namespace ${NAMESPACE} enforces the Pod Security level restricted, ` +
            `which takes no pods that use their node. ${COMMAND}`,
        ),
      });
    await setLevel("privileged");
    await cluster.rollOutUntilAvailable();
    expect(await condition("Degraded")).toMatchObject({ status: "False" });

    await setLevel("baseline");
    await expect
      .poll(() => condition("Available"))
      .toMatchObject({
        status: "True",
        message: expect.stringContaining(COMMAND),
      });
    await setLevel(null);
    await expect.poll(async () => (await condition("Available"))?.message ?? "").toBe("");
    await setLevel("privileged");
  });

  it("gives each account its SecurityContextConstraints as soon as they are known", async () => {
    const generation = (await cluster.config())?.metadata.generation;
    await cluster.admin.create(RESOURCES.crds, CONSTRAINTS_CRD);
    for (const name of OWN_CONSTRAINTS) {
      await expect.poll(() => constraints(name), NOTICED_WITHIN).toBeDefined();
      await expect.poll(() => mayUse(name, name), NOTICED_WITHIN).toBe(true);
    }
    await cluster.rollOutUntilAvailable();
    expect(await mayUse("linux-bridge", "bridge-marker")).toBe(false);
    expect(await mayUse("bridge-marker", "linux-bridge")).toBe(false);
    expect(await mayUse("linux-bridge-webhook", "linux-bridge")).toBe(false);
    expect(await mayUse("linux-bridge", "linux-bridge", "default")).toBe(false);
    expect((await cluster.config())?.metadata.generation).toBe(generation);
  });

  it("installs plugins where OpenShift looks for them, and follows its network's configuration", async () => {
    await cluster.admin.create(RESOURCES.crds, NETWORKS_CRD);
    expect(await binDir()).toBe("/opt/cni/bin");
    await createNetwork();
    await expect.poll(binDir, NOTICED_WITHIN).toBe("/var/lib/cni/bin");

    await cluster.applyConfig({ linuxBridge: {}, multus: {} });
    await cluster.rollOutUntilAvailable();
    await setMultiNetworkDisabled(true);
    await expect
      .poll(() => condition("Degraded"), NOTICED_WITHIN)
      .toMatchObject({
        reason: "FailedToValidate",
        message: expect.stringContaining(
          "multus has been requested, but is disabled on OpenShift Cluster Network Operator",
        ),
      });
    await setMultiNetworkDisabled(false);
    await cluster.rollOutUntilAvailable();
  });

  it("takes back who was let in by hand, and takes SecurityContextConstraints away with their component", async () => {
    const name = "linux-bridge";
    const stranger = { users: ["system:serviceaccount:default:default"], allowHostPID: true };
    await cluster.admin.patch(SECURITY_CONTEXT_CONSTRAINTS, { name }, { type: "merge", body: stranger });
    await expect.poll(() => constraints(name), NOTICED_WITHIN).toMatchObject({ users: [], allowHostPID: false });

    await cluster.applyConfig({ multus: {} });
    for (const gone of OWN_CONSTRAINTS) {
      await cluster.until(async () => (await constraints(gone)) === undefined && (await role(gone)) === undefined);
    }
    await cluster.applyConfig({ linuxBridge: {} });
    await cluster.until(async () => (await constraints(name)) !== undefined && (await role(name)) !== undefined);
    await cluster.rollOutUntilAvailable();
  });

  it("goes back when OpenShift's kinds go", async () => {
    await cluster.admin.delete(OPENSHIFT_NETWORKS, NETWORK);
    await expect.poll(binDir, NOTICED_WITHIN).toBe("/opt/cni/bin");
    for (const { metadata } of [NETWORKS_CRD, CONSTRAINTS_CRD]) {
      await cluster.admin.delete(RESOURCES.crds, { name: metadata.name ?? "" });
    }
    for (const name of OWN_CONSTRAINTS) await expect.poll(() => role(name), NOTICED_WITHIN).toBeUndefined();
    await cluster.rollOutUntilAvailable();
    expect(await condition("Degraded")).toMatchObject({ status: "False" });
    await cluster.kubectl(["delete", "nac", "cluster"]);
    expect(await cluster.config()).toBeUndefined();
  });

  it("was never refused anything", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
