import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SERVICE_MONITORS } from "../../src/api/kinds.ts";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { breakGroup } from "./support/broken-group.ts";
import { CERT_MANAGER_CRDS, PROMETHEUS_OPERATOR_CRDS } from "./support/external-kinds.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const MARKER = { name: "bridge-marker", namespace: NAMESPACE };
const IPAM = { name: "kubevirt-ipam-controller-manager", namespace: NAMESPACE };
/** Of the operator. */
const ROLE = { name: OPERATOR_NAME, namespace: NAMESPACE };

/** One story: the tests follow each other on one cluster. */
describe("while the API server does not answer for kinds of other products, the operator", () => {
  let cluster: InstalledOperator;
  const broken = new AsyncDisposableStack();

  beforeAll(async () => {
    cluster = await InstalledOperator.install({ bare: true });
    await cluster.addNode("node-a");
    await cluster.applyConfig({ linuxBridge: {}, kubevirtIpamController: {} });
    broken.use(await breakGroup(cluster, PROMETHEUS_OPERATOR_CRDS));
    broken.use(await breakGroup(cluster, CERT_MANAGER_CRDS));
    cluster.start(DEFAULT_SETTINGS);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const row = async (name: string) => (await cluster.config())?.status?.components?.find((one) => one.name === name);
  const degraded = async () => (await cluster.config())?.status?.conditions?.find(({ type }) => type === "Degraded");

  it("says which kinds those are and what to look at", async () => {
    await expect
      .poll(() => row("monitoring"))
      .toMatchObject({
        phase: "Degraded",
        reason: "FailedToApply",
        message: expect.stringMatching(
          /does not list servicemonitors\.monitoring\.coreos\.com: .*kubectl get apiservice v1\.monitoring\.coreos\.com/,
        ),
      });
    await expect
      .poll(() => row("kubevirtIpamController"))
      .toMatchObject({
        phase: "Degraded",
        message: expect.stringMatching(
          /certificates\.cert-manager\.io: .*kubectl get crd certificates\.cert-manager\.io/,
        ),
      });
    expect(await degraded()).toMatchObject({ status: "True", reason: "FailedToApply" });
  });

  it("deploys and repairs everything else", async () => {
    expect(await row("linuxBridge")).toMatchObject({ phase: expect.not.stringMatching("Degraded") });
    await cluster.until(() => cluster.isThere(RESOURCES.deployments, IPAM));
    const before = await cluster.find(RESOURCES.daemonSets, MARKER);
    await cluster.admin.delete(RESOURCES.daemonSets, MARKER);
    await cluster.until(async () => {
      const after = await cluster.find(RESOURCES.daemonSets, MARKER);
      return after !== undefined && after.metadata.uid !== before?.metadata.uid;
    });
  });

  it("applies what was left out as soon as the API server answers", async () => {
    await broken[Symbol.asyncDispose]();
    await expect.poll(() => row("monitoring"), { timeout: 45_000 }).toBeUndefined();
    await cluster.rollOutUntilAvailable();
    expect(await degraded()).toMatchObject({ status: "False" });
  });

  it("says so where a kind that it has listed is refused later, until it is listed again", async () => {
    const whole = await cluster.admin.get(RESOURCES.roles, ROLE);
    const rules = whole.rules?.filter(({ apiGroups }) => !apiGroups?.includes(SERVICE_MONITORS.group));
    expect(rules?.length).toBeLessThan(whole.rules?.length ?? 0);
    const set = (to: typeof rules) =>
      cluster.admin.patch(RESOURCES.roles, ROLE, { type: "merge", body: { rules: to } });
    await set(rules);
    await expect
      .poll(() => row("monitoring"), { timeout: 45_000 })
      .toMatchObject({
        phase: "Degraded",
        message: expect.stringMatching(/ is forbidden: .*\. Give the operator its right back/s),
      });
    await set(whole.rules);
    await expect.poll(() => row("monitoring"), { timeout: 45_000 }).toBeUndefined();
    await expect.poll(degraded).toMatchObject({ status: "False" });
  }, 120_000);
});
